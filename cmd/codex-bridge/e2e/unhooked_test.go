//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/cmd/internal/scripted"
)

// hookNames opens a conversation and returns a function that runs one turn and returns the names
// that the PreToolUse hook gets for its calls.
func hookNames(t *testing.T, codexConfig string, steps ...scripted.Step) (c *conversation, names func(text string) []string) {
	t.Helper()
	w := newWorld(t, options{codexConfig: "suppress_unstable_features_warning = true\n" + codexConfig})
	w.model.Add(steps...)
	seen := w.write("seen", "")
	script := w.write("handler.sh", "#!/bin/sh\ngrep -o '\"tool_name\":\"[^\"]*\"' | cut -d'\"' -f4 >> "+seen+"\n")
	if err := os.Chmod(script, 0o700); err != nil {
		t.Fatal(err)
	}
	w.write("config.toml", hooksPolicy+fmt.Sprintf("[[hooks.handler]]\nevent = \"pre_tool_use\"\ncommand = [%q]\n", script))
	w.env = append(w.env, "CODEX_BRIDGE_CONFIG="+filepath.Join(w.root, "config.toml"))
	c = w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	return c, func(text string) []string {
		t.Helper()
		before, err := os.ReadFile(seen)
		if err != nil {
			t.Fatal(err)
		}
		turn, mark := c.startTurn(thread, text)
		if status := c.waitTurn(thread, turn, mark); status != "completed" {
			t.Errorf("%s: status %q", text, status)
		}
		after, err := os.ReadFile(seen)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(after[len(before):]))
	}
}

// The tools without a hook in Codex, and the hook's names of the others, match the rules: a rule
// for a tool without a hook is refused, one for a hook's name is not.
func TestToolsWithoutHook(t *testing.T) {
	t.Parallel()
	refused := func(tool string) bool {
		_, err := rules.New([][]config.Rule{{{Tool: tool, Decision: "deny"}}})
		return err != nil
	}
	code := func(word, program string) scripted.Step {
		return scripted.Step{When: word, Reply: scripted.Reply{scripted.CustomCall{Tool: "exec", Input: program}}}
	}
	type call struct {
		text, tool string   // the model's call
		seen       []string // by the hook
		told       string   // output for the model: the tool ran
	}
	for _, world := range []struct {
		name, config string
		calls        []call
	}{
		{"default", "", []call{
			{`CALL: exec_command {"cmd":"read line; echo got $line","tty":true,"yield_time_ms":250}`, "exec_command", []string{"Bash"}, "session ID"},
			{"WRITE", "write_stdin", nil, "got it"},
			{`CALL: view_image {"path":"none.png"}`, "view_image", []string{"view_image"}, "none.png"},
			{`CALL: get_goal`, "get_goal", []string{"get_goal"}, "goal"},
			{`CALL: multi_agent_v1/close_agent {"target":"00000000-0000-0000-0000-000000000000"}`, "close_agent", []string{"multi_agent_v1close_agent"}, "not found"},
			{`CALL: web_search {"query":"x"}`, "web_search", nil, "unsupported call"}, // the provider runs it
			{`CALL: shell_command {"command":"true"}`, "shell_command", nil, "unsupported call"},
		}},
		{"code mode", "web_search = \"disabled\"\n[features]\ncode_mode = true\nmulti_agent_v2 = true\n", []call{
			{"CODE", "exec", []string{"Bash"}, "Script completed"},
			{`CALL: wait {"cell_id":"1"}`, "wait", nil, "exec cell 1 not found"},
			{`CALL: collaboration/list_agents {}`, "list_agents", []string{"collaborationlist_agents"}, "agents"},
		}},
	} {
		t.Run(world.name, func(t *testing.T) {
			t.Parallel()
			session := ""
			c, names := hookNames(t, world.config, code("CODE", "text(JSON.stringify(await tools.exec_command({cmd:'echo hi'})))"))
			for _, turn := range world.calls {
				text := turn.text
				if text == "WRITE" {
					text = fmt.Sprintf(`CALL: write_stdin {"session_id":%s,"chars":"it\n","yield_time_ms":2000}`, session)
				}
				seen, told := names(text), c.world.lastToolOutput()
				if !slices.Equal(seen, turn.seen) || !strings.Contains(told, turn.told) {
					t.Errorf("%s: the hook saw %q, want %q; the model got %q", text, seen, turn.seen, told)
				}
				if _, id, ok := strings.Cut(told, "session ID "); ok {
					session = strings.Fields(id)[0]
				}
				if want := !slices.Contains(turn.seen, turn.tool); refused(turn.tool) != want {
					t.Errorf("a rule for %s is refused: %v, want %v", turn.tool, !want, want)
				}
				for _, name := range turn.seen {
					if name != "Bash" && name != "apply_patch" && refused(name) {
						t.Errorf("a rule for %s is refused", name)
					}
				}
			}
			offered := slices.Contains(c.model.Requests()[0].ToolNames(), "web_search")
			if disabled := strings.Contains(world.config, "web_search"); offered == disabled {
				t.Errorf("web_search offered: %v", offered)
			}
			c.closeAndWait()
		})
	}
}
