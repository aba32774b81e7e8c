package tools

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"codex-bridge.example/bridge/config"
)

// DefaultNamespace is the namespace of tools that must have one and have none.
const DefaultNamespace = "host"

var nameRE = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]+$`) })

const (
	maxNameLen      = 128
	maxNamespaceLen = 64
)

// Codex's own names, measured with 0.169 and 0.171.
var (
	// codexNamespaces are the namespaces of Codex's own tools, with all features on. A tool
	// in one would be mixed with them, and hidden if it has the same name.
	codexNamespaces = []string{
		"clock", "codex_apps", "codex_message_board", "collaboration", "multi_agent_v1", "multi_agent_v2", "skills",
	}
	// codexTools are Codex's own tools, with all features on and all models. Codex accepts another tool of
	// such a name but never offers it. Called as functions, apply_patch and tool_search
	// even end the turn. While Codex's tool is off, the other would be offered.
	codexTools = []string{
		"apply_patch", "create_goal", "exec", "exec_command", "get_goal", "image_generation", "list_mcp_resource_templates",
		"list_mcp_resources", "local_shell", "read_mcp_resource", "request_permissions", "request_plugin_install",
		"request_user_input", "request_user_input_async", "send_message_to_user_async", "shell", "shell_command",
		"tool_search", "update_goal", "update_plan", "view_image", "wait", "wait_for_environment", "web_search", "write_stdin",
		// tools in namespaces
		"close_agent", "followup_task", "interrupt_agent", "list_agents", "resume_agent", "send_input", "send_message",
		"spawn_agent", "wait_agent",
	}
)

// codeModeName returns a tool's name in code mode, where tools are functions. There "a-b"
// and "a_b" are equal, of which the model sees only one, and so are "n__b" and b in
// namespace n (measured with 0.169.0).
func codeModeName(namespace, name string) string {
	if namespace != "" {
		name = namespace + "__" + name
	}
	return strings.ReplaceAll(name, "-", "_")
}

// displayName returns a tool's name for people.
func displayName(namespace, name string) string {
	if namespace != "" {
		return namespace + "." + name
	}
	return name
}

// checkName returns a reason if a name or namespace can't be used, else "".
func checkName(namespace, name string) string {
	switch {
	case name == "":
		return "it has no name"
	case len(name) > maxNameLen:
		return fmt.Sprintf("its name has more than %d characters", maxNameLen)
	case !nameRE().MatchString(name):
		return fmt.Sprintf("its name %q may have only letters, digits, _ and -", name)
	case isMCPName(name):
		return fmt.Sprintf("its name %q is reserved for MCP; use one other than mcp and mcp__…", name)
	}
	if namespace != "" {
		switch own := strings.ReplaceAll(namespace, "-", "_"); {
		case len(namespace) > maxNamespaceLen:
			return fmt.Sprintf("its namespace has more than %d characters", maxNamespaceLen)
		case !nameRE().MatchString(namespace):
			return fmt.Sprintf("its namespace %q may have only letters, digits, _ and -", namespace)
		case isMCPName(namespace), config.ReservedNamespace(namespace):
			return fmt.Sprintf("its namespace %q is reserved; use another", namespace)
		case slices.Contains(codexNamespaces, own):
			return fmt.Sprintf("its namespace %q is Codex's own; use another", namespace)
		}
	}
	k := codeModeName(namespace, name)
	own, _, _ := strings.Cut(k, "__")
	if slices.Contains(codexTools, k) || own != k && slices.Contains(codexNamespaces, own) {
		return fmt.Sprintf("its name %q is that of one of Codex's own tools; use another", name)
	}
	return ""
}

func isMCPName(word string) bool { return word == "mcp" || strings.HasPrefix(word, "mcp__") }
