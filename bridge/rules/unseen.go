package rules

import (
	"slices"
	"strings"

	"codex-bridge/bridge/config"
)

// unseenTools are names of Codex's tools that no call is judged by, with what to write instead.
// Measured with Codex 0.169: for the first five no PreToolUse hook runs; the others reach the
// hook under another name. A rule for such a name would do nothing.
var unseenTools = []struct{ name, hint string }{
	{"write_stdin", `write a rule for the command that reads the input, such as command = "python3 **"`},
	{"exec", `name the tools that its program calls, such as tool = "shell", or set features.code_mode = false in Codex's configuration`},
	{"wait", `name the tools that the program calls, such as tool = "shell", or set features.code_mode = false in Codex's configuration`},
	{"web_search", `set web_search = "disabled" in Codex's configuration`},
	{"image_generation", `set features.image_generation = false in Codex's configuration`},

	{"Bash", `write tool = "shell"`},
	{"exec_command", `write tool = "shell"`},
	{"shell_command", `write tool = "shell"`},
	{"local_shell", `write tool = "shell"`},
	{"container.exec", `write tool = "shell"`},
	{"apply_patch", `write tool = "file"`},

	{"close_agent", `write tool = "*close_agent"; Codex puts the namespace before the name`},
	{"followup_task", `write tool = "*followup_task"; Codex puts the namespace before the name`},
	{"interrupt_agent", `write tool = "*interrupt_agent"; Codex puts the namespace before the name`},
	{"list_agents", `write tool = "*list_agents"; Codex puts the namespace before the name`},
	{"resume_agent", `write tool = "*resume_agent"; Codex puts the namespace before the name`},
	{"send_input", `write tool = "*send_input"; Codex puts the namespace before the name`},
	{"send_message", `write tool = "*send_message"; Codex puts the namespace before the name`},
	{"wait_agent", `write tool = "*wait_agent"; Codex puts the namespace before the name`},
}

// unseenTool returns a tool that the pattern of a rule names and that no call is judged by, and
// what to write instead; "" when there is none. A pattern with * or ? can match other tools as
// well: see Unseen.
func unseenTool(pattern string) (name, hint string) {
	if strings.ContainsAny(pattern, "*?") {
		return "", ""
	}
	for _, tool := range unseenTools {
		if config.Match(pattern, tool.name) {
			return tool.name, tool.hint
		}
	}
	return "", ""
}

// Unseen returns the tools without a hook that the wildcards of a rule's tool match: the rule
// does nothing for these. A pattern that begins with * means no tool in particular.
func Unseen(pattern string) []string {
	var names []string
	if !strings.ContainsAny(pattern, "*?") || strings.HasPrefix(pattern, "*") {
		return nil
	}
	for _, tool := range unseenTools {
		if config.Match(pattern, tool.name) {
			names = append(names, tool.name)
		}
	}
	slices.Sort(names)
	return names
}
