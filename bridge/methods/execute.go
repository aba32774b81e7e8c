package methods

// executeRows run programs. The env of command/exec decides too: codex looks in its
// PATH for the program that makes the sandbox, and runs what it finds there outside
// of it (measured with a bwrap in a folder of the client's choice).
var executeRows = []Row{
	{
		ClientRequest, "thread/shellCommand", Execute, Deny, nil,
		"runs a shell command outside every sandbox; no hook, no approval sees it",
	},
	{
		ClientRequest, "process/spawn", Execute, Deny, nil,
		"runs a program outside every sandbox, in an environment of the client's; no hook, no approval sees it",
	},
	{ClientRequest, "process/writeStdin", Execute, Deny, nil, "feeds a program of process/spawn, which is refused"},
	{ClientRequest, "process/resizePty", Execute, Deny, nil, "belongs to a program of process/spawn, which is refused"},
	{ClientRequest, "process/kill", Execute, Pass, nil, "ends a program that was started before the policy was in force"},
	{
		ClientRequest, "command/exec", Execute, Rewrite, []string{"cwd", "env", "permissionProfile", "sandboxPolicy"},
		"runs a program in the sandbox that its own params name, and with a PATH that says what makes the sandbox",
	},
	{ClientRequest, "command/exec/write", Execute, Pass, nil, "feeds a program that command/exec was allowed to run"},
	{ClientRequest, "command/exec/resize", Execute, Pass, nil, "the size of a terminal"},
	{ClientRequest, "command/exec/terminate", Execute, Pass, nil, "ends a program"},
	{ClientRequest, "thread/backgroundTerminals/clean", Execute, Pass, nil, "ends the commands that a thread left running"},
	{ClientRequest, "thread/backgroundTerminals/terminate", Execute, Pass, nil, "ends a command that a thread left running"},
	{
		ClientRequest, "mcpServer/tool/call", Execute, Deny, nil,
		"runs a tool of a server; PreToolUse does not fire, and nobody is asked",
	},
	{
		ClientRequest, "mcpServer/event/stream/start", Execute, Deny, nil,
		"has a server act on arguments of the client's, without a hook or an approval",
	},
	{ClientRequest, "mcpServer/event/stream/stop", Execute, Pass, nil, "ends a stream"},
	{
		ClientRequest, "windowsSandbox/setupStart", Execute, Deny, nil,
		"runs the set-up of the sandbox as administrator and chooses its kind for every thread, the weaker one too",
	},
}
