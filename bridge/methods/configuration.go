package methods

// configurationRows change what codex does from now on, in every thread.
var configurationRows = []Row{
	{
		ClientRequest, "initialize", Configuration, Rewrite, []string{"capabilities"},
		"what the connection may ask and is told; the bridge's own capability is taken out",
	},
	{ClientNotification, "initialized", Configuration, Pass, nil, "the end of the handshake"},
	{
		ClientRequest, "config/value/write", Configuration, Deny, nil,
		"sets any key of the user's configuration, in a file of the client's choice: hooks, servers, trust, policy",
	},
	{
		ClientRequest, "config/batchWrite", Configuration, Deny, nil,
		"sets any keys of the user's configuration, and in running threads at once: a trusted hook was switched off so",
	},
	{ClientRequest, "config/mcpServer/reload", Configuration, Deny, nil, "starts the command of a freshly written server at once"},
	{
		ClientRequest, "modelProvider/config/write", Configuration, Deny, nil,
		"chooses where every conversation is sent, and the command that fetches its key",
	},
	{ClientRequest, "experimentalFeature/enablement/set", Configuration, Deny, nil, "switches features of every thread, hooks among them"},
	{ClientRequest, "skills/config/write", Configuration, Deny, nil, "switches skills on or off in the user's configuration"},
}
