package methods

// remoteRows admit other devices or send data out. Ending the access of all devices passes.
var remoteRows = []Row{
	{ClientRequest, "remoteControl/enable", Remote, Deny, nil, "lets other devices of the account control this codex, without the policy"},
	{ClientRequest, "remoteControl/disable", Remote, Pass, nil, "ends the control by other devices"},
	{ClientRequest, "remoteControl/status/read", Remote, Pass, nil, "reports whether other devices may control this codex"},
	{ClientRequest, "remoteControl/pairing/start", Remote, Deny, nil, "creates the code to pair another device"},
	{ClientRequest, "remoteControl/pairing/status", Remote, Pass, nil, "reports whether a code was used"},
	{ClientRequest, "remoteControl/client/list", Remote, Pass, nil, "lists the paired devices"},
	{ClientRequest, "remoteControl/client/revoke", Remote, Deny, nil, "removes a device of the user, for every codex of the account"},
	{ClientRequest, "feedback/upload", Remote, Deny, nil, "sends the conversation, logs and any files that the client names to the vendor"},
	{ClientRequest, "plugin/share/save", Remote, Deny, nil, "uploads and shares a folder that the client names"},
	{ClientRequest, "plugin/share/updateTargets", Remote, Deny, nil, "sets with whom a plugin of the user is shared"},
	{ClientRequest, "plugin/share/delete", Remote, Deny, nil, "removes a shared plugin for all its users"},
	{ClientRequest, "account/sendAddCreditsNudgeEmail", Remote, Deny, nil, "sends mail to the owner of the account in the user's name"},
}
