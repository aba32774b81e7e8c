package methods

// remoteRows let others in, or data out. What shuts others out passes.
var remoteRows = []Row{
	{ClientRequest, "remoteControl/enable", Remote, Deny, nil, "lets other devices of the account drive this codex, past the policy"},
	{ClientRequest, "remoteControl/disable", Remote, Pass, nil, "shuts other devices out"},
	{ClientRequest, "remoteControl/status/read", Remote, Pass, nil, "tells whether other devices may drive this codex"},
	{ClientRequest, "remoteControl/pairing/start", Remote, Deny, nil, "makes the code by which another device is let in"},
	{ClientRequest, "remoteControl/pairing/status", Remote, Pass, nil, "tells whether a code was used"},
	{ClientRequest, "remoteControl/client/list", Remote, Pass, nil, "lists the devices that were let in"},
	{ClientRequest, "remoteControl/client/revoke", Remote, Deny, nil, "takes a device of the user's out, for every codex of the account"},
	{ClientRequest, "feedback/upload", Remote, Deny, nil, "sends the conversation, logs and any file the client names to the vendor"},
	{ClientRequest, "plugin/share/save", Remote, Deny, nil, "uploads a folder of the client's choice and shares it"},
	{ClientRequest, "plugin/share/updateTargets", Remote, Deny, nil, "chooses whom a plugin of the user's is shared with"},
	{ClientRequest, "plugin/share/delete", Remote, Deny, nil, "takes a shared plugin away from those who use it"},
	{ClientRequest, "account/sendAddCreditsNudgeEmail", Remote, Deny, nil, "sends mail to the owner of the account, in the user's name"},
}
