package tools

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"codex-bridge/bridge/config"
)

// Namespace is where tools are put that have none of their own and must have one.
const Namespace = "host"

var wordRE = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

const (
	longestName      = 128
	longestNamespace = 64
)

// What is Codex's own, measured with 0.169.0.
var (
	// ownNamespaces are those of Codex's own tools, with all features on: a tool of ours
	// would be shown among them, and one that has the name of theirs not at all.
	ownNamespaces = []string{
		"clock", "codex_apps", "codex_message_board", "collaboration", "multi_agent_v1", "multi_agent_v2", "skills",
	}
	// ownTools are Codex's, with all features on. One of ours with such a name is
	// accepted and never offered; called as a function, apply_patch and tool_search even
	// end the turn. Where Codex's own is not on, ours would be offered, until it is.
	ownTools = []string{
		"apply_patch", "create_goal", "exec", "exec_command", "get_goal", "image_generation", "list_mcp_resource_templates",
		"list_mcp_resources", "local_shell", "read_mcp_resource", "request_permissions", "request_plugin_install",
		"request_user_input", "send_message_to_user_async", "shell", "shell_command", "tool_search", "update_goal",
		"update_plan", "view_image", "wait", "wait_for_environment", "web_search", "write_stdin",
		// of namespaces, without theirs
		"close_agent", "followup_task", "interrupt_agent", "list_agents", "resume_agent", "send_input", "send_message",
		"spawn_agent", "wait_agent",
	}
)

// key is what a tool is called in code mode, where it is a function of a program: there
// "a-b" and "a_b" are one, of which the model sees one only, and so are the tool "n__b"
// and b of the namespace n (measured with 0.169.0).
func key(namespace, name string) string {
	if namespace != "" {
		name = namespace + "__" + name
	}
	return strings.ReplaceAll(name, "-", "_")
}

// called is a tool's name for people.
func called(namespace, name string) string {
	if namespace != "" {
		return namespace + "." + name
	}
	return name
}

// checkName tells what is wrong with a tool's name and namespace; "" nothing.
func checkName(namespace, name string) string {
	switch {
	case name == "":
		return "it has no name"
	case len(name) > longestName:
		return fmt.Sprintf("its name has more than %d characters", longestName)
	case !wordRE.MatchString(name):
		return fmt.Sprintf("its name %q has other characters than letters, digits, _ and -", name)
	case mcp(name):
		return fmt.Sprintf("its name %q is one of MCP's own; take another than mcp and mcp__…", name)
	}
	if namespace != "" {
		switch own := strings.ReplaceAll(namespace, "-", "_"); {
		case len(namespace) > longestNamespace:
			return fmt.Sprintf("its namespace has more than %d characters", longestNamespace)
		case !wordRE.MatchString(namespace):
			return fmt.Sprintf("its namespace %q has other characters than letters, digits, _ and -", namespace)
		case mcp(namespace), config.ReservedNamespace(namespace):
			return fmt.Sprintf("its namespace %q is reserved; take another", namespace)
		case slices.Contains(ownNamespaces, own):
			return fmt.Sprintf("its namespace %q is Codex's own; take another", namespace)
		}
	}
	k := key(namespace, name)
	own, _, _ := strings.Cut(k, "__")
	if slices.Contains(ownTools, k) || own != k && slices.Contains(ownNamespaces, own) {
		return fmt.Sprintf("its name %q is that of one of Codex's own tools; take another", name)
	}
	return ""
}

func mcp(word string) bool { return word == "mcp" || strings.HasPrefix(word, "mcp__") }
