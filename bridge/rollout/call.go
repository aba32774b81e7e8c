package rollout

import (
	"slices"

	"codex-bridge/rpc"
)

// tool is the one tool of codex 0.169.0 that runs commands, with or without
// features.unified_exec (measured: shell, shell_command, local_shell and
// container.exec are no calls that it supports).
const tool = "exec_command"

// harmless are the arguments of it that say nothing of the sandbox. Of one that is
// not known nobody can tell. prefix_rule goes with an escalation only.
var harmless = []string{"cmd", "justification", "login", "max_output_tokens", "shell", "tty", "workdir", "yield_time_ms"}

// plainCall tells whether a function_call asks for a command in the sandbox.
//
// Measured: null is as good as left out; codex refuses arguments with a name twice,
// and a word that it does not know.
func plainCall(item rpc.Value) bool {
	text, ok := item.Get("arguments").Text()
	if !ok || !item.Get("name").Is(tool) || given(item.Get("namespace")) {
		return false
	}
	arguments, err := rpc.ParseValue([]byte(text))
	if err != nil || arguments.Root().Kind() != rpc.Object {
		return false
	}
	if _, ok := arguments.Root().Get("cmd").Text(); !ok {
		return false
	}
	for name, v := range arguments.Root().Members() {
		switch {
		case slices.Contains(harmless, name), !given(v):
		case name == "sandbox_permissions" && v.Is("use_default"):
		default:
			return false
		}
	}
	return true
}

func given(v rpc.Value) bool { return v.Exists() && v.Kind() != rpc.Null }
