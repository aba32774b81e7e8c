package methods

// accountRows touch credentials, or what the account pays. Signing in and out
// passes: without it an editor can't be used, and a person's browser or key is in it.
// But account/login/start with the type amazonBedrock or amazonBedrockAccessKeys sets
// model_provider in the user's config.toml (measured), as account/bedrock/setup does.
var accountRows = []Row{
	{ClientRequest, "account/read", Account, Pass, nil, "shows who is signed in"},
	{
		ClientRequest, "account/login/start", Account, Rewrite, []string{"type"},
		"signs in; the kinds that write another provider into the user's configuration are refused",
	},
	{ClientRequest, "account/login/cancel", Account, Pass, nil, "gives signing in up"},
	{ClientRequest, "account/logout", Account, Pass, nil, "signs out"},
	{ClientRequest, "account/gatewayOAuth/read", Account, Pass, nil, "shows whether the gateway has a sign-in"},
	{ClientRequest, "account/gatewayOAuth/login", Account, Pass, nil, "signs in at the gateway that is configured; a person agrees in the browser"},
	{ClientRequest, "account/gatewayOAuth/cancel", Account, Pass, nil, "gives signing in up"},
	{ClientRequest, "account/securitySetup/read", Account, Pass, nil, "shows whether the account's security is set up"},
	{ClientRequest, "account/rateLimits/read", Account, Pass, nil, "shows the limits"},
	{ClientRequest, "account/usage/read", Account, Pass, nil, "shows the usage"},
	{ClientRequest, "account/workspaceMessages/read", Account, Pass, nil, "shows the messages of the account's workspace"},
	{ClientRequest, "account/bedrock/discover", Account, Pass, nil, "lists the names of the AWS profiles here, without their keys"},
	{ClientRequest, "account/bedrock/checkGovCloudRequirements", Account, Pass, nil, "tells whether GovCloud can be used"},
	{
		ClientRequest, "account/bedrock/setup", Account, Deny, nil,
		"writes another provider into the user's configuration: every conversation goes there",
	},
	{
		ClientRequest, "account/gcp/setup", Account, Deny, nil,
		"writes another provider into the user's configuration, with a credential file of the client's choice",
	},
	{ClientRequest, "account/rateLimitResetCredit/consume", Account, Deny, nil, "spends a credit of the account's"},
	{ClientRequest, "accountSession/list", Account, Pass, nil, "lists the sign-ins"},
	{ClientRequest, "accountSession/switch", Account, Deny, nil, "every conversation goes to, and is paid by, another account"},
	{ClientRequest, "mcpServer/oauth/login", Account, Pass, nil, "signs in at a server that is configured; a person agrees in the browser"},
	{ClientRequest, "userVerification/status", Account, Pass, nil, "tells whether a signing key of the user's is here"},
	{ClientRequest, "userVerification/enroll", Account, Deny, nil, "makes a key that speaks for the user"},
	{ClientRequest, "userVerification/delete", Account, Deny, nil, "deletes the key that speaks for the user"},
	{ClientRequest, "userVerification/verify", Account, Deny, nil, "signs, as the user, whatever the client brings"},
	{ClientRequest, "userVerification/cancel", Account, Pass, nil, "gives a signature up"},
}
