package methods

// accountRows concern credentials and costs of the account. Signing in and out passes, and is logged: an
// editor needs it. With ChatGPT the user takes part in it, with a key only the client does. But account/login/start with the type
// amazonBedrock or amazonBedrockAccessKeys sets model_provider in the user's config.toml
// (measured), like account/bedrock/setup.
var accountRows = []Row{
	{ClientRequest, "account/read", Account, Pass, nil, "shows who is signed in"},
	{
		ClientRequest, "account/login/start", Account, Rewrite, []string{"type"},
		"signs in; types that write another provider into the user's configuration are refused",
	},
	{ClientRequest, "account/login/cancel", Account, Pass, nil, "cancels a sign-in"},
	{ClientRequest, "account/logout", Account, Pass, nil, "signs out"},
	{ClientRequest, "account/gatewayOAuth/read", Account, Pass, nil, "shows whether the gateway has a sign-in"},
	{ClientRequest, "account/gatewayOAuth/login", Account, Pass, nil, "signs in at the configured gateway; the user agrees in the browser"},
	{ClientRequest, "account/gatewayOAuth/cancel", Account, Pass, nil, "cancels a sign-in"},
	{ClientRequest, "account/securitySetup/read", Account, Pass, nil, "shows whether the account's security is set up"},
	{ClientRequest, "account/rateLimits/read", Account, Pass, nil, "shows the limits"},
	{ClientRequest, "account/usage/read", Account, Pass, nil, "shows the usage"},
	{ClientRequest, "account/workspaceMessages/read", Account, Pass, nil, "shows the messages of the account's workspace"},
	{ClientRequest, "account/bedrock/discover", Account, Pass, nil, "lists the names of the local AWS profiles, without their keys"},
	{ClientRequest, "account/bedrock/checkGovCloudRequirements", Account, Pass, nil, "reports whether GovCloud can be used"},
	{
		ClientRequest, "account/bedrock/setup", Account, Deny, nil,
		"writes another provider into the user's configuration: every conversation is sent there",
	},
	{
		ClientRequest, "account/gcp/setup", Account, Deny, nil,
		"writes another provider into the user's configuration, with a credential file that the client names",
	},
	{ClientRequest, "account/rateLimitResetCredit/consume", Account, Deny, nil, "spends a credit of the account"},
	{ClientRequest, "accountSession/list", Account, Pass, nil, "lists the sign-ins"},
	{ClientRequest, "accountSession/switch", Account, Deny, nil, "sends all conversations to another account, which pays for them"},
	{ClientRequest, "mcpServer/oauth/login", Account, Pass, nil, "signs in at a configured server; the user agrees in the browser"},
	{ClientRequest, "userVerification/status", Account, Pass, nil, "reports whether there is a signing key of the user"},
	{ClientRequest, "userVerification/enroll", Account, Deny, nil, "creates a key that signs for the user"},
	{ClientRequest, "userVerification/delete", Account, Deny, nil, "deletes the key that signs for the user"},
	{ClientRequest, "userVerification/verify", Account, Deny, nil, "signs any data of the client with the user's key"},
	{ClientRequest, "userVerification/cancel", Account, Pass, nil, "cancels a signature"},
}
