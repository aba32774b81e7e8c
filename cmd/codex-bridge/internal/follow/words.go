package follow

import (
	"strings"
	"unicode"

	"codex-bridge.example/rpc"
)

// StripControls returns a model's text without characters that act on a terminal.
func StripControls(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return -1
		}
		return r
	}, text)
}

// DescribeItem describes a started item in a few words; "" for an item that users need not see.
func DescribeItem(item rpc.Value) string {
	text := func(name string) string {
		t, _ := item.Get(name).Text()
		return t
	}
	kind, _ := item.Get("type").Text()
	switch kind {
	case "reasoning":
		return "thinking"
	case "agentMessage":
		return "writing"
	case "commandExecution":
		var parts []string // without its shell
		for action := range item.Get("commandActions").Elements() {
			if part, ok := action.Get("command").Text(); ok && part != "" {
				parts = append(parts, part)
			}
		}
		if len(parts) > 0 {
			return "running " + strings.Join(parts, " && ")
		}
		return "running " + text("command")
	case "fileChange":
		return "changing " + strings.Join(patchedFiles(item), ", ")
	case "mcpToolCall":
		return "calling " + text("server") + "/" + text("tool")
	case "dynamicToolCall":
		return "calling " + text("tool")
	case "webSearch":
		return "searching the web for " + text("query")
	case "contextCompaction":
		return "summing the conversation up"
	}
	return ""
}

// patchedFiles returns the files that a patch changes, and their new paths.
func patchedFiles(item rpc.Value) (all []string) {
	for change := range item.Get("changes").Elements() {
		if path, ok := change.Get("path").Text(); ok {
			all = append(all, path)
		}
		if to, ok := change.Get("kind").Get("move_path").Text(); ok {
			all = append(all, to)
		}
	}
	return all
}
