package inject

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/rpc"
)

// OtherHooks returns a name for each hook besides the bridge's that may replace the input of a call of a tool
// in a thread. With thread "" they are those that a new thread in the folder would have.
//
// Measured with Codex 0.169 and 0.171: a thread keeps its hooks until Codex reads its configuration again, and
// hooks/list has them.
func (f *Feature) OtherHooks(ctx context.Context, thread, folder, tool string) ([]string, error) {
	params := map[string]any{"threadId": thread}
	if thread == "" {
		params = map[string]any{"cwds": []string{folder}}
	}
	list, err := f.peer.Call(ctx, "hooks/list", params)
	if err != nil {
		return nil, fmt.Errorf("codex's hooks/list failed: %w", err)
	}
	return Replacing(list, tool)
}

// Replacing returns a name for each hook besides the bridge's that may replace the input of a call of a
// tool, or with tool "" of any tool. list is the result of hooks/list.
//
// Measured with Codex 0.169 and 0.171: it skips hooks that are disabled or not trusted, and those with
// "async" can't replace the input.
func Replacing(list rpc.Value, tool string) (names []string, err error) {
	data := list.Get("data")
	if data.Kind() != rpc.Array {
		return nil, errNoList
	}
	for entry := range data.Elements() {
		if entry.Get("hooks").Kind() != rpc.Array {
			return nil, errNoList
		}
		for h := range entry.Get("hooks").Elements() {
			enabled, known := h.Get("enabled").Bool()
			async, _ := h.Get("async").Bool()
			status, _ := h.Get("trustStatus").Text()
			source, _ := h.Get("sourcePath").Text()
			matcher, _ := h.Get("matcher").Text()
			switch {
			case !h.Get("eventName").Is("preToolUse"), source == Source, known && !enabled, async:
			case status == "untrusted", status == "modified":
			case tool != "" && !mayMatch(matcher, tool):
			default:
				name := "the hook of " + display.Quote(source)
				if command, ok := h.Get("command").Text(); ok {
					name = "the hook " + display.Excerpt(command) + " of " + display.Quote(source)
				}
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// errNoList says that another Codex may list its hooks in another form, so that they are not known.
var errNoList = errors.New("codex's hooks/list has no list of hooks in a form that the bridge knows")

// mayMatch reports whether Codex may run a hook with a matcher for a tool. It returns false only for a matcher
// that is a list of names, or the pattern of a name that starts with "mcp_".
//
// Measured with Codex 0.169 and 0.171: the name of a command is only Bash, and a patch is also Write and
// Edit.
func mayMatch(matcher, tool string) bool {
	names := []string{tool}
	switch {
	case tool == "apply_patch":
		names = append(names, "Write", "Edit")
	case tool != "Bash" && !strings.HasPrefix(tool, "mcp__"):
		return true
	}
	if !strings.HasPrefix(tool, "mcp_") && strings.HasPrefix(strings.TrimPrefix(matcher, "^"), "mcp_") && !strings.Contains(matcher, "|") {
		return false
	}
	if strings.Trim(matcher, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_|") != "" {
		return true
	}
	listed := strings.Split(matcher, "|")
	return slices.ContainsFunc(names, func(name string) bool {
		return slices.ContainsFunc(listed, func(one string) bool { return strings.HasPrefix(name, one) })
	})
}
