package methods

// configurationRows change Codex's configuration, for all threads.
var configurationRows = []Row{
	{
		ClientRequest, "initialize", Configuration, Rewrite, []string{"capabilities"},
		"sets the capabilities of the connection; the bridge's own capability is removed",
	},
	{ClientNotification, "initialized", Configuration, Pass, nil, "ends the handshake"},
	{
		ClientRequest, "config/value/write", Configuration, Deny, nil,
		"sets any key of the user's configuration, in a file that the client names: hooks, servers, trust, policy",
	},
	{
		ClientRequest, "config/batchWrite", Configuration, Deny, nil,
		"sets any keys of the user's configuration, also in running threads: a trusted hook was disabled in this way",
	},
	{ClientRequest, "config/mcpServer/reload", Configuration, Deny, nil, "starts the commands of newly configured servers"},
	{
		ClientRequest, "modelProvider/config/write", Configuration, Deny, nil,
		"sets where all conversations are sent, and the command that fetches the key",
	},
	{ClientRequest, "experimentalFeature/enablement/set", Configuration, Deny, nil, "enables or disables features of all threads, including hooks"},
	{ClientRequest, "skills/config/write", Configuration, Deny, nil, "enables or disables skills in the user's configuration"},
}
