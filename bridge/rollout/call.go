package rollout

import (
	"bytes"
	"slices"
	"strings"

	"codex-bridge/bridge/rules"
	"codex-bridge/rpc"
)

// tool is the one tool of codex 0.169.0 that runs commands, with or without
// features.unified_exec (measured: shell, shell_command, local_shell and
// container.exec are no calls that it supports).
const commandTool = "exec_command"

// harmless are the arguments of it that say nothing of the sandbox. Of one that is
// not known nobody can tell. prefix_rule goes with an escalation only.
var neutralArguments = []string{"cmd", "justification", "max_output_tokens", "tty", "workdir", "yield_time_ms"}

// readCall reads a function_call that asks for a command in the sandbox, or that surely
// asks for one outside of it. It returns false for any other.
//
// Measured: null is as good as left out. Codex refuses arguments with a name twice. It
// ignores an argument that it does not know, and prefix_rule without an escalation.
func readCall(item rpc.Value) (Call, bool) {
	text, ok := item.Get("arguments").Text()
	if !ok || !item.Get("name").Is(commandTool) || isSet(item.Get("namespace")) {
		return Call{}, false
	}
	arguments, err := rpc.ParseValue([]byte(text))
	if err != nil || arguments.Root().Kind() != rpc.Object {
		return Call{}, false
	}
	if _, ok := arguments.Root().Get("cmd").Text(); !ok {
		return Call{}, false
	}
	call, rule := Call{Escalation: rules.Sandboxed}, false
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
		return Call{Escalation: rules.Escalated, Requested: true}, true
	}
	return call, !rule
}

// unknownShell stands for one that the call names, and that is not known here.
const unknownShell = "?"

// shellName is the shell that Codex runs where it is asked for that one; "" if it is not
// known.
//
// Measured: Codex goes by the last part of a path without what follows its dot, takes
// bash, zsh and sh from where the system keeps them, whatever the path, and for any other
// name /bin/sh, unless it is one of PowerShell or cmd that is installed.
func shellName(text string) string {
	name := text[strings.LastIndexByte(text, '/')+1:]
	if slices.Contains([]string{"bash", "zsh", "sh"}, name) {
		return name
	}
	return ""
}

// usualShell is the shell of calls that name none, as Codex tells the model.
func defaultShell(line []byte) (string, bool) {
	if !bytes.Contains(line, []byte(`"world_state"`)) {
		return "", false
	}
	doc, err := rpc.ParseValue(bytes.TrimRight(line, "\r\n"))
	if err != nil || !doc.Root().Get("type").Is("world_state") {
		return "", false
	}
	return doc.Root().Get("payload").Get("state").Get("environments").Get("environments").Get("local").Get("shell").Text()
}

func isSet(v rpc.Value) bool { return v.Exists() && v.Kind() != rpc.Null }
