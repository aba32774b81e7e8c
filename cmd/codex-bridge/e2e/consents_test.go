//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// consent is an answer with more than the question, in its own form. $CWD and $ROOT stand for the
// world's folders, $CALL for the id of the tool call.
type consent struct {
	features string // of codex
	approval string
	says     string   // the user's text
	writes   []string // files that the model asks to write and then writes; nil: none
	answer   string   // JSON
	alone    []string // the effects with Codex alone
	bridged  []string // the effects under a policy
}

// The user's configuration then allows the tool permanently.
const allowedForGood = "config"

var consents = map[string]consent{
	// Codex ignores both: the question has no such field, and the answer is not an option.
	"tool, in the content": {
		approval: "untrusted", says: `CALL: mcp__probe/touch {"path":"$ROOT/touched"}`,
		answer: `{"action":"accept","content":{"mcp_tool_call_approval_$CALL":"Allow and don't ask me again"},"_meta":null}`,
		alone:  []string{allowedForGood, "touched"}, bridged: []string{"touched"},
	},
	"tool, as a question": {
		features: "tool_call_mcp_elicitation = false\n",
		approval: "untrusted", says: `CALL: mcp__probe/touch {"path":"$ROOT/touched"}`,
		answer: `{"answers":{"mcp_tool_call_approval_$CALL":{"answers":["Allow and don't ask me again"]}}}`,
		alone:  []string{allowedForGood, "touched"}, bridged: []string{"touched"},
	},
	// The bridge reduces the grant.
	"grant": {
		approval: "on-request", says: "PERMIT", writes: []string{"workspace/sub", "outside", "workspace/.git"},
		answer:  `{"permissions":{"fileSystem":{"write":["$CWD/sub","$ROOT/outside","$CWD/.git"]}},"scope":"turn"}`,
		alone:   []string{"workspace/sub/marker", "outside/marker", "workspace/.git/marker"},
		bridged: []string{"workspace/sub/marker"},
	},
}

// try makes the model ask once, and returns the effects.
func (a consent) try(t *testing.T, o options, argv ...string) string {
	t.Helper()
	o.codexConfig = "suppress_unstable_features_warning = true\n[features]\nrequest_permissions_tool = true\n" + a.features + mcpConfig("probe")
	w := newWorld(t, o)
	w.write("workspace/sub/here", "")
	w.write("outside/here", "")
	fill := strings.NewReplacer("$ROOT", w.root, "$CWD", w.workspace)
	if a.writes != nil {
		var folders, commands []string
		for _, name := range a.writes {
			folders = append(folders, filepath.Join(w.root, name))
			commands = append(commands, "touch "+filepath.Join(w.root, name, "marker"))
		}
		arguments := fmt.Sprintf(`{"reason":"r","permissions":{"file_system":{"write":%s}}}`, marshal(t, folders))
		w.model.Add(scripted.Step{When: a.says, Reply: scripted.Reply{scripted.Call{Tool: "request_permissions", Arguments: json.RawMessage(arguments)}}})
		w.model.Add(scripted.Step{When: "permissions", Reply: scripted.Reply{scripted.Run(strings.Join(commands, "; "))}})
	}
	var call atomic.Value
	call.Store("")
	c := &conversation{world: w, ctx: deadline(t), Editor: w.start(argv, editor.Options{
		Observe: func(m editor.Message) {
			var started struct{ Item struct{ ID, Type string } }
			if m.Method == "item/started" && json.Unmarshal(m.Params, &started) == nil && started.Item.Type == "mcpToolCall" {
				call.Store(started.Item.ID)
			}
		},
		Answer: func(_ context.Context, m editor.Message) (any, *editor.Error) {
			if m.Method == commandApproval {
				return decision("decline"), nil
			}
			return json.RawMessage(strings.ReplaceAll(fill.Replace(a.answer), "$CALL", call.Load().(string))), nil
		},
	})}
	c.initialize(nil)
	thread := c.thread(map[string]any{"approvalPolicy": a.approval, "sandbox": "read-only"})
	turn, mark := c.startTurn(thread, fill.Replace(a.says))
	c.waitTurn(thread, turn, mark)
	c.closeAndWait()
	var left []string
	if strings.Contains(w.read("home/config.toml"), "approval_mode") {
		left = append(left, allowedForGood)
	}
	for _, name := range []string{"touched", "workspace/sub/marker", "outside/marker", "workspace/.git/marker"} {
		if w.hasFile(name) {
			left = append(left, name)
		}
	}
	return strings.Join(left, " ")
}

// The effects with Codex alone and under a policy.
func TestConsentsGrantOnlyTheQuestion(t *testing.T) {
	t.Parallel()
	for name, a := range consents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, want := a.try(t, options{}, codexPath, "app-server"), strings.Join(a.alone, " "); got != want {
				t.Errorf("Codex alone: %q, measured %q", got, want)
			}
			config := fmt.Sprintf("[policy]\nmode = \"enforce\"\nsandbox = \"workspace-write\"\napproval = [%q]\n", a.approval)
			if got, want := a.try(t, options{config: config}, proxyArgv...), strings.Join(a.bridged, " "); got != want {
				t.Errorf("under a policy: %q, want %q", got, want)
			}
		})
	}
}
