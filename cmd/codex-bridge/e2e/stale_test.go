//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// hostTool returns the configuration of one host tool.
func hostTool(name, property, says string) string {
	return fmt.Sprintf("\n[tools.%s]\ndescription = \"D\"\ncommand = [\"/bin/sh\", \"-c\", \"echo %s\"]\n"+
		"input_schema = { type = \"object\", properties = { %s = { type = \"string\" } } }\n", name, says, property)
}

const unhurriedCodex = "[codex]\nshutdown_grace = \"1m\"\n"

// warnings returns the warnings about threads that the client got.
func (c *conversation) warnings() (all []string) {
	for _, m := range c.Messages() {
		if !m.Sent && m.Method == "warning" {
			all = append(all, m.Param("threadId")+": "+m.Param("message"))
		}
	}
	return all
}

// A client resumes a thread whose tools differ from the current ones.
func TestResumeWithOtherTools(t *testing.T) {
	t.Parallel()
	before := hostTool("stays", "a", "stayed") + hostTool("changes", "a", "old") + hostTool("goes", "a", "gone")
	after := hostTool("stays", "a", "stayed") + hostTool("changes", "b", "new") + hostTool("comes", "a", "come")
	own := map[string]any{"developerInstructions": "speak in verse", "dynamicTools": []any{tool("mine", "the client's", map[string]any{})}}

	// made returns a world with a thread that has the earlier tools and the client's.
	made := func(t *testing.T) (*world, string) {
		w := newWorld(t, options{config: unhurriedCodex + before})
		c := w.open(proxyArgv...)
		c.initialize(map[string]any{"experimentalApi": true})
		thread := c.thread(own)
		c.toolOutput(thread, "SAY: the first")
		c.toolOutput(thread, "SAY: the second")
		c.closeAndWait()
		return w, thread
	}

	t.Run("the same", func(t *testing.T) {
		t.Parallel()
		w, thread := made(t)
		c := w.open(proxyArgv...)
		c.initialize(map[string]any{"experimentalApi": true})
		c.resume(thread, map[string]any{})
		c.toolOutput(thread, "SAY: x")
		if all := c.warnings(); len(all) != 0 {
			t.Errorf("warnings: %q", all)
		}
		c.closeAndWait()
	})

	t.Run("warn", func(t *testing.T) {
		t.Parallel()
		w, thread := made(t)
		w.write("config.toml", unhurriedCodex+after)
		c := w.open(proxyArgv...)
		c.initialize(map[string]any{"experimentalApi": true})
		c.resume(thread, map[string]any{})
		m := c.waitFor(0, "warning", func(m editor.Message) bool { return m.Param("threadId") == thread })
		if text := m.Param("message"); !strings.Contains(text, "These have changed since: changes, comes.") {
			t.Errorf("warning: %s", text)
		}
		for _, test := range []struct{ tool, want string }{{"stays", "stayed"}, {"changes", "new"}} {
			if output := c.callTool(thread, test.tool, "{}"); !strings.Contains(output, test.want) {
				t.Errorf("%s: the model got %s", test.tool, output)
			}
		}
		c.closeAndWait()
	})

	// Settings that the client omits stay: the fork of a read-only thread is read-only.
	t.Run("fork as it was", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, options{config: unhurriedCodex + before})
		c := w.open(proxyArgv...)
		c.initialize(map[string]any{"experimentalApi": true})
		thread := c.thread(map[string]any{"sandbox": "read-only", "approvalPolicy": "never"})
		c.toolOutput(thread, "SAY: the first")
		c.closeAndWait()
		w.write("config.toml", unhurriedCodex+after+"\n[thread]\non_stale_tools = \"fork\"\n")
		c = w.open(proxyArgv...)
		c.initialize(map[string]any{"experimentalApi": true})
		result := c.must("thread/resume", map[string]any{"threadId": thread})
		if fork := editor.Member(result, "thread", "id"); fork == thread {
			t.Errorf("not a fork: %s", result)
		}
		if sandbox, approval := editor.Member(result, "sandbox", "type"), editor.Member(result, "approvalPolicy"); sandbox != "readOnly" || approval != "never" {
			t.Errorf("the fork has sandbox %s and approval policy %s", sandbox, approval)
		}
		c.closeAndWait()
	})

	t.Run("fork", func(t *testing.T) {
		t.Parallel()
		w, thread := made(t)
		w.write("config.toml", unhurriedCodex+after+"\n[thread]\non_stale_tools = \"fork\"\n[policy]\nmode = \"enforce\"\nsandbox = \"read-only\"\n")
		c := w.open(proxyArgv...)
		c.initialize(map[string]any{"experimentalApi": true})
		result := c.must("thread/resume", map[string]any{"threadId": thread, "sandbox": "danger-full-access"})
		fork := editor.Member(result, "thread", "id")
		if fork == thread || editor.Member(result, "thread", "forkedFromId") != thread || editor.Member(result, "sandbox", "type") != "readOnly" {
			t.Fatalf("result %s", result)
		}
		var output struct {
			Thread struct{ Turns []json.RawMessage }
		}
		if err := json.Unmarshal(result, &output); err != nil || len(output.Thread.Turns) != 2 {
			t.Errorf("%d turns in the response", len(output.Thread.Turns))
		}
		c.waitFor(0, "warning", func(m editor.Message) bool {
			return m.Param("threadId") == fork && strings.Contains(m.Param("message"), thread)
		})
		if output := c.callTool(fork, "comes", "{}"); !strings.Contains(output, "come") {
			t.Errorf("the model got %s", output)
		}
		requests := w.model.Requests()
		last := requests[len(requests)-1]
		for _, text := range []string{"the first", "the second", "speak in verse"} {
			if !last.Contains(text) {
				t.Errorf("the model did not get %q", text)
			}
		}
		// The fork has the client's own tool.
		turn, mark := c.startTurn(fork, "CALL: mine {}")
		m := c.waitFor(mark, toolCall, nil)
		if err := c.Reply(m, map[string]any{"contentItems": []any{}, "success": true}); err != nil {
			t.Fatal(err)
		}
		c.waitTurn(fork, turn, mark)
		c.closeAndWait()

		// The fork is a normal thread with the current tools.
		c = w.open(proxyArgv...)
		c.initialize(map[string]any{"experimentalApi": true})
		if result := c.resume(fork, map[string]any{}); editor.Member(result, "thread", "id") != fork {
			t.Errorf("resume of the fork: %s", result)
		}
		c.toolOutput(fork, "SAY: on")
		if requests = w.model.Requests(); !requests[len(requests)-1].Contains("the first") {
			t.Error("the history was lost with the process")
		}
		c.closeAndWait()
	})
}
