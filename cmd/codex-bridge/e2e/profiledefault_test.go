//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

const profileDefaultConfig = "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nprotected_paths = [\".github\"]\n"

// threadMethods returns the requests of a client that have a threadId, with all their fields.
func threadMethods(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../../bridge/methods/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Methods map[string]map[string]struct{ Params []string }
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for method, one := range schema.Methods["client request"] {
		if slices.Contains(one.Params, "threadId") {
			found[method] = one.Params
		}
	}
	if len(found) < 50 {
		t.Fatalf("the schema has %d such methods", len(found))
	}
	return found
}

// Codex reads the overlay of a thread again for some requests, without the thread's sandbox. None
// of the requests fails because of the profile that the bridge defines there.
func TestProfileLetsCodexReadOverlayAgain(t *testing.T) {
	t.Parallel()
	given := map[string]any{ // fields without which Codex would not come to read the overlay
		"appIds": []any{"x"}, "server": "s", "tool": "t", "uri": "u:/v", "name": "n", "arguments": map[string]any{}, "target": map[string]any{"type": "uncommittedChanges"},
		"input": []any{map[string]any{"type": "text", "text": "SAY: hi"}}, "objective": "SAY: hi", "clientUserMessageId": "c", "command": "true", "prompt": "SAY: hi",
		"items": []any{}, "searchTerm": "x", "subscriptionId": "s", "text": "x", "processId": "1", "mode": "enabled", "outputModality": "text", "markdown": "x",
	}
	final := []string{"thread/archive", "thread/delete", "thread/unsubscribe", "thread/revert"} // the thread is gone
	for _, sandbox := range []string{"workspace-write", "read-only"} {
		t.Run(sandbox, func(t *testing.T) {
			t.Parallel()
			config := profileDefaultConfig + "[policy.methods]\n"
			for _, method := range []string{"mcpServer/tool/call", "mcpServer/resource/read", "mcpServer/event/stream/start", "thread/shellCommand", "thread/inject_items", "thread/prepareApprovedPlan"} {
				config += fmt.Sprintf("%q = \"allow\"\n", method)
			}
			w := newWorld(t, options{config: config, mute: "many requests"})
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": sandbox})
			a.turn(thread, "RUN: true")
			answered := 0
			try := func(method string, names []string) {
				params := map[string]any{"threadId": thread}
				for _, name := range names {
					if value, ok := given[name]; ok && !(name == "target" && method != "review/start") && !(name == "mode" && method != "thread/memoryMode/set") {
						params[name] = value
					}
				}
				mark := a.Mark()
				result, err := a.Call(a.ctx, method, params)
				switch {
				case err == nil:
					answered++
				case strings.Contains(err.Error(), "default_permissions") || strings.Contains(err.Error(), "reload config"):
					t.Errorf("%s: %v", method, err)
				}
				if turn := editor.Member(result, "turn", "id"); turn != "" {
					a.waitTurn(thread, turn, mark)
				}
			}
			all := threadMethods(t)
			for _, method := range slices.Sorted(maps.Keys(all)) {
				if !slices.Contains(final, method) {
					try(method, all[method])
				}
			}
			if answered < 30 {
				t.Errorf("Codex carried out %d requests", answered)
			}
			for _, method := range final {
				try(method, all[method])
			}
			a.closeAndWait()
		})
	}
}

// The overlay's default profile does not widen a thread. A read-only thread stays read-only. A
// workspace-write thread keeps its protected paths after start, resume and fork, and in subagents.
func TestDefaultProfileDoesNotWiden(t *testing.T) {
	t.Parallel()
	fork := func(_ *world, a *acceptingEditor, thread string) (*acceptingEditor, string) {
		return a, editor.Member(a.must("thread/fork", map[string]any{"threadId": thread}), "thread", "id")
	}
	cold := func(w *world, a *acceptingEditor, thread string) (*acceptingEditor, string) {
		a.closeAndWait()
		a = w.newAcceptingEditor(proxyArgv...)
		a.must("thread/resume", map[string]any{"threadId": thread})
		return a, thread
	}
	loaded := func(_ *world, a *acceptingEditor, thread string) (*acceptingEditor, string) {
		a.must("thread/resume", map[string]any{"threadId": thread})
		return a, thread
	}
	unsubscribed := func(_ *world, a *acceptingEditor, thread string) (*acceptingEditor, string) {
		a.must("thread/unsubscribe", map[string]any{"threadId": thread})
		a.must("thread/resume", map[string]any{"threadId": thread})
		return a, thread
	}
	read := func(_ *world, a *acceptingEditor, thread string) (*acceptingEditor, string) {
		a.must("app/read", map[string]any{"threadId": thread, "appIds": []any{"x"}})
		return a, thread
	}
	opened := map[string]func(*world, *acceptingEditor, string) (*acceptingEditor, string){
		"start": nil, "fork": fork, "cold resume": cold, "loaded resume": loaded, "unsubscribed": unsubscribed, "read again": read,
	}
	type act struct {
		name string
		do   func(a *acceptingEditor, thread, task string)
	}
	agent := func(role string) act {
		return act{"agent-" + role, func(a *acceptingEditor, thread, task string) {
			call, err := json.Marshal(map[string]string{"message": task, "agent_type": role})
			if err != nil {
				a.t.Fatal(err)
			}
			turn, mark := a.startTurn(thread, "CALL: multi_agent_v1/spawn_agent "+string(call))
			a.waitTurn(thread, turn, mark)
			a.waitFor(mark, "turn/completed", func(m editor.Message) bool { return m.Param("threadId") != thread })
		}}
	}
	turn := act{"turn", func(a *acceptingEditor, thread, task string) { a.turn(thread, task) }}
	review := act{"review", func(a *acceptingEditor, thread, task string) {
		mark := a.Mark()
		a.must("review/start", map[string]any{"threadId": thread, "delivery": "inline", "target": map[string]any{"type": "custom", "instructions": task}})
		a.waitFor(mark, "turn/completed", nil)
	}}
	for i, how := range slices.Sorted(maps.Keys(opened)) {
		open := opened[how]
		for j, from := range []string{"read-only", "workspace-write", "workspace-write lowered"} {
			lowered := strings.HasSuffix(from, "lowered")
			for _, agents := range []string{"odd", "default"} { // the last, since an agent's end may begin a turn of the thread
				if agents == "default" && how != "start" || !isSampled(3, i, j) {
					continue
				}
				if !isSampledName(3, how+" "+from+" "+agents) {
					continue
				}
				t.Run(how+" "+from+" "+agents, func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, options{config: profileDefaultConfig})
					w.write("home/agents/odd.toml", "name = \"odd\"\ndescription = \"d\"\ndeveloper_instructions = \"d\"\n")
					w.write("workspace/.github/x", "")
					sandbox, _, _ := strings.Cut(from, " ")
					a := w.newAcceptingEditor(proxyArgv...)
					thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": sandbox})
					a.turn(thread, "SAY: hi")
					if open != nil {
						a, thread = open(w, a, thread)
					}
					if lowered {
						turn, mark := a.startTurnWith(thread, "SAY: hi", map[string]any{"sandboxPolicy": map[string]any{"type": "readOnly"}})
						a.waitTurn(thread, turn, mark)
					}
					for _, one := range []act{turn, review, agent(agents)} {
						name := one.name
						w.write("workspace/"+name+".sh", "touch "+name+"; echo > .github/"+name+"\n") // in a file: a hook refuses what it can see
						one.do(a, thread, "RUN: sh "+name+".sh")
						if made := w.hasFile("workspace/" + name); made != (from == "workspace-write") || w.hasFile("workspace/.github/"+name) {
							t.Errorf("%s: made: %v, the protected file: %v; %q", name, made, w.hasFile("workspace/.github/"+name), w.lastToolOutput())
						}
					}
					a.closeAndWait()
				})
			}
		}
	}
}
