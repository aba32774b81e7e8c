package rollout

import (
	"slices"
	"strings"

	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// commandTool is the only tool of Codex 0.169.0 that runs commands, with or without
// features.unified_exec (measured: it does not support shell, shell_command, local_shell and
// container.exec).
const commandTool = "exec_command"

// neutralArguments are the arguments that do not affect the sandbox. The effect of an unknown one is
// unknown. prefix_rule is only valid with an escalation.
var neutralArguments = []string{"cmd", "justification", "max_output_tokens", "workdir", "yield_time_ms"}

// readCall parses a function_call that asks for a command in the sandbox, or certainly for one
// outside. It returns false for any other.
//
// Measured: null is equal to a missing argument. Codex refuses duplicate arguments. It ignores
// unknown arguments, and prefix_rule without an escalation.
func readCall(item rpc.Value) (Call, bool) {
	text, ok := item.Get("arguments").Text()
	if !ok || !item.Get("name").Is(commandTool) || isSet(item.Get("namespace")) {
		return Call{}, false
	}
	arguments, err := rpc.ParseValue([]byte(text))
	if err != nil || arguments.Root().Kind() != rpc.Object {
		return Call{}, false
	}
	command, ok := arguments.Root().Get("cmd").Text()
	if !ok {
		return Call{}, false
	}
	call, rule := Call{Escalation: rules.Sandboxed, Command: command}, false
	for name, v := range arguments.Root().Members() {
		switch {
		case !isSet(v):
		case name == "shell":
			text, _ := v.Text()
			if call.Shell = shellName(text); call.Shell == "" {
				call.Shell = unknownShell
			}
		case name == "login":
			call.Flags = "-c"
			if login, _ := v.Bool(); login {
				call.Flags = "-lc"
			}
		case name == "tty":
			tty, isBool := v.Bool()
			call.Terminal = tty || !isBool
		case slices.Contains(neutralArguments, name):
		case name == "prefix_rule":
			rule = true
		case name == "sandbox_permissions" && v.Is("use_default"):
		case name == "sandbox_permissions" && v.Is("require_escalated"):
			call.Escalation = rules.Escalated
		default:
			return Call{}, false
		}
	}
	if call.Escalation == rules.Escalated {
		return Call{Escalation: rules.Escalated, Requested: true, Command: command}, true
	}
	return call, !rule
}

// unknownShell is a shell that the call names, but that is unknown here.
const unknownShell = "?"

// shellName returns the shell that Codex runs for the requested one, or "" if it is unknown.
//
// Measured: Codex uses the last part of a path, without an extension. It takes bash, zsh and sh
// from the folders of the system, whatever the path. For any other name it runs /bin/sh, except
// for an installed PowerShell or cmd.
func shellName(text string) string {
	name := text[strings.LastIndexByte(text, '/')+1:]
	if slices.Contains([]string{"bash", "zsh", "sh"}, name) {
		return name
	}
	return ""
}

// worldStateText is in each line in which Codex states its environment to the model.
const worldStateText = `"world_state"`

// defaultShell returns the shell of calls that name none, as Codex states it to the model; false if
// the texts do not have it. before and turn are the end of the file. If they do not have it, its start
// counts.
func defaultShell(before, turn, head []byte) (shell string, known bool) {
	for i, text := range [][]byte{before, turn, head} {
		if known && i > 1 {
			break
		}
		for line := range linesWith(text, worldStateText) {
			if line == nil || !line.Root().Get("type").Is("world_state") {
				continue
			}
			if one, ok := statedShell(line.Root()); ok {
				shell, known = one, true
			}
		}
	}
	return shell, known
}

// statedShell returns the shell in a statement of Codex about its environment; false if the statement
// leaves it as it was.
func statedShell(record rpc.Value) (shell string, stated bool) {
	state := record.Get("payload")
	shell, stated = state.Get("state").Get("environments").Get("environments").Get("local").Get("shell").Text()
	full, _ := state.Get("full").Bool()
	return shell, stated || full
}

func isSet(v rpc.Value) bool { return v.Exists() && v.Kind() != rpc.Null }
