package methods

// serverRequestRows are requests of Codex to the client. Verdict and Fields concern the response.
var serverRequestRows = []Row{
	{
		ServerRequest, "item/commandExecution/requestApproval", Execute, Rewrite, []string{"decision"},
		"asks whether a command may run; the answer must be one that codex offered, and allows no more",
	},
	{
		ServerRequest, "item/fileChange/requestApproval", FileWrite, Rewrite, []string{"decision"},
		"asks whether files may change; an accepted change is written anywhere, without the sandbox",
	},
	{
		ServerRequest, "item/permissions/requestApproval", Thread, Rewrite, []string{"permissions", "scope"},
		"asks for more permissions of a turn; granting them widens the sandbox, also of a read-only thread",
	},
	{
		ServerRequest, "mcpServer/elicitation/request", Execute, Rewrite, []string{"_meta", "action"},
		"asks whether a tool of a server may run, or for input to a server",
	},
	{
		ServerRequest, "applyPatchApproval", FileWrite, Rewrite, []string{"decision"},
		"the older form of item/fileChange/requestApproval",
	},
	{
		ServerRequest, "execCommandApproval", Execute, Rewrite, []string{"decision"},
		"the older form of item/commandExecution/requestApproval",
	},
	{
		ServerRequest, "item/tool/requestUserInput", Turn, Rewrite, []string{"answers"},
		"the model asks the user; a consent to a tool that is asked in this way is valid once",
	},
	{ServerRequest, "item/tool/call", Execute, Pass, nil, "lets the client run a tool that it offered"},
	{ServerRequest, "currentTime/read", Read, Pass, nil, "asks for the client's clock"},
	{ServerRequest, "attestation/generate", Account, Pass, nil, "asks the client for an attestation"},
	{ServerRequest, "account/chatgptAuthTokens/refresh", Account, Pass, nil, "asks a client that signed in with its own tokens for new ones"},
}
