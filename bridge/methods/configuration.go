package methods

// configurationRows change Codex's configuration, for all threads.
var configurationRows = []Row{
	{
		ClientRequest, "initialize", Configuration, Rewrite, []string{"capabilities"},
		"sets the capabilities of the connection; the bridge's own capability is removed",
	},
	{ClientNotification, "initialized", Configuration, Pass, nil, "ends the handshake"},
	{
		ClientRequest, "config/value/write", Configuration, Rewrite, []string{"filePath", "keyPath", "value"},
		"sets a key of the user's configuration: models, notices, looks of the TUI, and trust; no programs, no permissions",
	},
	{
		ClientRequest, "config/batchWrite", Configuration, Rewrite, []string{"edits", "filePath", "reloadUserConfig"},
		"sets keys of the user's configuration, each judged as in config/value/write; running threads keep theirs",
	},
	{ClientRequest, "config/mcpServer/reload", Configuration, Deny, nil, "starts the commands of newly configured servers"},
	{
		ClientRequest, "modelProvider/config/write", Configuration, Deny, nil,
		"sets where all conversations are sent, and the command that fetches the key",
	},
	{ClientRequest, "experimentalFeature/enablement/set", Configuration, Deny, nil, "enables or disables features of all threads, including hooks"},
	{ClientRequest, "skills/config/write", Configuration, Deny, nil, "enables or disables skills in the user's configuration"},
}
