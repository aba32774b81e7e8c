//go:build linux

package e2e_test

// besideConfig is the user's configuration in the attacked worlds.
var besideConfig = mcpConfig("probe")

// dangerous is the configuration of a user who allows Codex everything.
const dangerous = "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n"

// Attacks that run programs.
var executeAttacks = map[string]attack{
	"shellCommand": {method: "thread/shellCommand", params: `{"threadId":"$THREAD","command":"touch $OUT/marker"}`, effect: hasMarker},
	"spawn":        {method: "process/spawn", params: `{"processHandle":"$WORD","cwd":"$CWD","command":["touch","$OUT/marker"]}`, effect: hasMarker},
	"spawn env":    {method: "process/spawn", params: `{"processHandle":"$WORD","cwd":"$CWD","command":["sh","-c","touch $MARK"],"env":{"MARK":"$OUT/marker"}}`, effect: hasMarker},
	"spawn tty":    {method: "process/spawn", params: `{"processHandle":"$WORD","cwd":"$CWD","command":["touch","$OUT/marker"],"tty":true}`, effect: hasMarker},
	"writeStdin": {
		first:  []request{{"process/spawn", `{"processHandle":"$WORD","cwd":"$CWD","command":["sh"],"streamStdin":true}`}},
		method: "process/writeStdin", params: `{"processHandle":"$WORD","deltaBase64":"dG91Y2ggLi4vbWFya2VyLXN0ZGluCg==","closeStdin":true}`, effect: createsFile("$ROOT/marker-stdin"),
	},
	"resizePty": {
		first: []request{{"process/spawn", `{"processHandle":"$WORD","cwd":"$CWD","tty":true,` +
			`"command":["bash","-c","trap 'touch $OUT/marker; exit' WINCH; touch $OUT/ready; while :; do sleep 0.01; done"]}`}},
		ready:  "$OUT/ready",
		method: "process/resizePty", params: `{"processHandle":"$WORD","size":{"rows":9,"cols":9}}`, effect: hasMarker,
	},
	// It may pass: it has nothing to kill.
	"kill": {
		first:  []request{{"process/spawn", `{"processHandle":"$WORD","cwd":"$CWD","command":["sleep","1000"]}`}},
		method: "process/kill", params: `{"processHandle":"$WORD"}`, effect: clientReceives(`"process/exited"`), passes: true,
	},

	"exec danger":   {method: "command/exec", params: `{"command":["touch","$OUT/marker"],"sandboxPolicy":{"type":"dangerFullAccess"}}`, effect: hasMarker, rewritten: true},
	"exec external": {method: "command/exec", params: `{"command":["touch","$OUT/marker"],"sandboxPolicy":{"type":"externalSandbox","networkAccess":"enabled"}}`, effect: hasMarker, rewritten: true},
	// The workspace of command/exec is Codex's folder, not its cwd.
	"exec cwd":         {method: "command/exec", params: `{"command":["touch","marker"],"cwd":"$OUT","sandboxPolicy":{"type":"workspaceWrite","excludeSlashTmp":true,"excludeTmpdirEnvVar":true}}`, effect: hasMarker, rewritten: true, inert: true},
	"exec cwd up":      {method: "command/exec", params: `{"command":["touch","marker"],"cwd":"$CWD/../out/$WORD","sandboxPolicy":{"type":"workspaceWrite","excludeSlashTmp":true,"excludeTmpdirEnvVar":true}}`, effect: hasMarker, rewritten: true, inert: true},
	"exec roots":       {method: "command/exec", params: `{"command":["touch","$OUT/marker"],"sandboxPolicy":{"type":"workspaceWrite","writableRoots":["$OUT"],"excludeSlashTmp":true,"excludeTmpdirEnvVar":true}}`, effect: hasMarker, rewritten: true},
	"exec network":     {method: "command/exec", params: `{"command":["bash","-c","echo >/dev/tcp/127.0.0.1/$PORT"],"sandboxPolicy":{"type":"readOnly","networkAccess":true}}`, effect: connected, rewritten: true},
	"exec network ws":  {method: "command/exec", params: `{"command":["bash","-c","echo >/dev/tcp/127.0.0.1/$PORT"],"sandboxPolicy":{"type":"workspaceWrite","networkAccess":true}}`, effect: connected, rewritten: true},
	"exec profile":     {method: "command/exec", params: `{"command":["touch","$OUT/marker"],"permissionProfile":":danger-full-access"}`, effect: hasMarker, rewritten: true},
	"exec array":       {method: "command/exec", params: `{"command":["touch","$OUT/marker"],"sandboxPolicy":["dangerFullAccess"]}`, effect: hasMarker, rewritten: true},
	"exec raw":         {method: "command/exec", params: `{"command":["touch","$OUT/marker"],"sandboxPolicy":{"$serde_json::private::RawValue":"{\"type\":\"dangerFullAccess\"}"}}`, effect: hasMarker, offForm: true},
	"exec tty":         {method: "command/exec", params: `{"command":["touch","$OUT/marker"],"sandboxPolicy":{"type":"dangerFullAccess"},"processId":"$WORD","tty":true}`, effect: hasMarker, rewritten: true},
	"exec nothing":     {codexConfig: dangerous, method: "command/exec", params: `{"command":["touch","$OUT/marker"]}`, effect: hasMarker, rewritten: true},
	"exec null":        {codexConfig: dangerous, method: "command/exec", params: `{"command":["touch","$OUT/marker"],"sandboxPolicy":null,"permissionProfile":null}`, effect: hasMarker, rewritten: true},
	"exec own profile": {codexConfig: ownProfile, method: "command/exec", params: `{"command":["touch","$OUT/marker"],"permissionProfile":"mine"}`, effect: hasMarker, rewritten: true},
	// Codex looks in the command's PATH for the program that creates its sandbox.
	"exec PATH": {
		prepare: func(s *attackRun) { s.program("bwrap", "touch "+s.out+"/marker") },
		method:  "command/exec", params: `{"command":["true"],"sandboxPolicy":{"type":"readOnly"},"env":{"PATH":"$OUT/bin:/usr/bin:/bin"}}`, effect: hasMarker, rewritten: true,
	},
	"exec write": {
		first:  []request{{"command/exec", `{"command":["sh"],"processId":"$WORD","streamStdin":true,"sandboxPolicy":{"type":"dangerFullAccess"}}`}},
		method: "command/exec/write", params: `{"processId":"$WORD","deltaBase64":"dG91Y2ggLi4vbWFya2VyLWV4ZWMK","closeStdin":true}`, effect: createsFile("$ROOT/marker-exec"), passes: true,
	},

	"tool":       {method: "mcpServer/tool/call", params: `{"threadId":"$THREAD","server":"probe","tool":"touch","arguments":{"path":"$OUT/marker"}}`, effect: hasMarker},
	"resource":   {method: "mcpServer/resource/read", params: `{"threadId":"$THREAD","server":"probe","uri":"touch:$OUT/marker"}`, effect: hasMarker},
	"resource 2": {method: "mcpServer/resource/read", params: `{"server":"probe","uri":"touch:$OUT/marker"}`, effect: hasMarker},
	// (only for apps; Codex knows it)
	"stream":  {method: "mcpServer/event/stream/start", params: `{"threadId":"$THREAD","server":"probe","name":"n","arguments":{},"subscriptionId":"s"}`, effect: clientReceives("only supported for hosted apps")},
	"windows": {method: "windowsSandbox/setupStart", params: `{"mode":"unelevated"}`, effect: clientReceives(`"result":{"started":true}`)},
}

const ownProfile = "default_permissions = \":read-only\"\n[permissions.mine.filesystem]\n\":root\" = \"write\"\n"
