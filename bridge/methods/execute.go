package methods

// executeRows run programs. The env of command/exec matters, too: Codex finds the program that
// creates the sandbox in its PATH, and runs it outside the sandbox (measured with a bwrap in a
// folder of the client's choice).
var executeRows = []Row{
	{
		ClientRequest, "thread/shellCommand", Execute, Deny, nil,
		"runs a shell command without a sandbox, hooks or approval",
	},
	{
		ClientRequest, "process/spawn", Execute, Deny, nil,
		"runs a program in an environment that the client sets, without a sandbox, hooks or approval",
	},
	{ClientRequest, "process/writeStdin", Execute, Deny, nil, "writes to a program of process/spawn, which is refused"},
	{ClientRequest, "process/resizePty", Execute, Deny, nil, "sets the terminal size of a program of process/spawn, which is refused"},
	{ClientRequest, "process/kill", Execute, Pass, nil, "ends a program that was started before the policy took effect"},
	{
		ClientRequest, "command/exec", Execute, Rewrite, []string{"cwd", "env", "permissionProfile", "sandboxPolicy"},
		"runs a program in the sandbox of its params, with a PATH that selects the program which creates the sandbox",
	},
	{ClientRequest, "command/exec/write", Execute, Pass, nil, "writes to a program that command/exec was allowed to run"},
	{ClientRequest, "command/exec/resize", Execute, Pass, nil, "sets the size of a terminal"},
	{ClientRequest, "command/exec/terminate", Execute, Pass, nil, "ends a program"},
	{ClientRequest, "thread/backgroundTerminals/clean", Execute, Pass, nil, "ends the background commands of a thread"},
	{ClientRequest, "thread/backgroundTerminals/terminate", Execute, Pass, nil, "ends a background command of a thread"},
	{
		ClientRequest, "mcpServer/tool/call", Execute, Deny, nil,
		"runs a tool of a server, without PreToolUse hooks or approval",
	},
	{
		ClientRequest, "mcpServer/event/stream/start", Execute, Deny, nil,
		"makes a server act on the client's arguments, without hooks or approval",
	},
	{ClientRequest, "mcpServer/event/stream/stop", Execute, Pass, nil, "ends a stream"},
	{
		ClientRequest, "windowsSandbox/setupStart", Execute, Deny, nil,
		"runs the setup of the sandbox as administrator, and sets its type for all threads, also the weaker one",
	},
}
