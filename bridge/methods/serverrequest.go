package methods

// serverRequestRows are what codex asks the client. The verdict is about the
// answer, and so are the fields.
var serverRequestRows = []Row{
	{
		ServerRequest, "item/commandExecution/requestApproval", Execute, Rewrite, []string{"decision"},
		"may a command run? An answer must be one that was offered, and opens no more than that",
	},
	{
		ServerRequest, "item/fileChange/requestApproval", FileWrite, Rewrite, []string{"decision"},
		"may files change? An accepted change is written anywhere, whatever the sandbox",
	},
	{
		ServerRequest, "item/permissions/requestApproval", Thread, Rewrite, []string{"permissions", "scope"},
		"may the turn do more? A grant widens the sandbox, of a read-only thread too",
	},
	{
		ServerRequest, "mcpServer/elicitation/request", Execute, Rewrite, []string{"_meta", "action"},
		"may a tool of a server run? Or a server asks for input",
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
		"the model asks a person, and what they answer is theirs; but a consent to a tool, asked this way, holds once",
	},
	{ServerRequest, "item/tool/call", Execute, Pass, nil, "has the client run a tool that it offered"},
	{ServerRequest, "currentTime/read", Read, Pass, nil, "asks for the client's clock"},
	{ServerRequest, "attestation/generate", Account, Pass, nil, "asks the client to vouch for itself"},
	{ServerRequest, "account/chatgptAuthTokens/refresh", Account, Pass, nil, "asks the client, which signed in with tokens of its own, for fresh ones"},
}
