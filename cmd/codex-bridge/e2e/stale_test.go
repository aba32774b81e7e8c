//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"codex-bridge/cmd/internal/editor"
)

// hostTool is the configuration of one tool of the host.
func hostTool(name, property, says string) string {
	return fmt.Sprintf("\n[tools.%s]\ndescription = \"D\"\ncommand = [\"/bin/sh\", \"-c\", \"echo %s\"]\n"+
		"input_schema = { type = \"object\", properties = { %s = { type = \"string\" } } }\n", name, says, property)
}

const unhurriedCodex = "[codex]\nshutdown_grace = \"1m\"\n"

// warned are the warnings of threads that the client has heard.
func (c *conversation) warned() (all []string) {
	for _, m := range c.Messages() {
		if !m.Sent && m.Method == "warning" {
			all = append(all, m.Param("threadId")+": "+m.Param("message"))
		}
	}
	return all
}

// A client resumes a thread that has other tools than there are by now.
func TestStaleTools(t *testing.T) {
	t.Parallel()
	before := hostTool("stays", "a", "stayed") + hostTool("changes", "a", "old") + hostTool("goes", "a", "gone")
	after := hostTool("stays", "a", "stayed") + hostTool("changes", "b", "new") + hostTool("comes", "a", "come")
	own := map[string]any{"developerInstructions": "speak in verse", "dynamicTools": []any{tool("mine", "the client's", map[string]any{})}}

	// made is a world with a thread that has the tools of before, and the client's.
	made := func(t *testing.T) (*world, string) {
		w := newWorld(t, options{config: unhurriedCodex + before})
		c := w.open(proxyArgv...)
		c.initialize(map[string]any{"experimentalApi": true})
		thread := c.thread(own)
		c.told(thread, "SAY: the first")
		c.told(thread, "SAY: the second")
		c.quit()
		return w, thread
	}

	t.Run("the same", func(t *testing.T) {
		t.Parallel()
		w, thread := made(t)
		c := w.open(proxyArgv...)
		c.initialize(map[string]any{"experimentalApi": true})
		c.resume(thread, map[string]any{})
		c.told(thread, "SAY: x")
		if all := c.warned(); len(all) != 0 {
			t.Errorf("the client is warned: %q", all)
		}
		c.quit()
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
			t.Errorf("the client is warned: %s", text)
		}
		for _, test := range []struct{ tool, want string }{{"stays", "stayed"}, {"changes", "new"}} {
			if told := c.calls(thread, test.tool, "{}"); !strings.Contains(told, test.want) {
				t.Errorf("%s: the model is told %s", test.tool, told)
			}
		}
		c.quit()
	})

	// What the client does not say is as it was: a thread that could write nothing can't as a fork.
	t.Run("fork as it was", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, options{config: unhurriedCodex + before})
		c := w.open(proxyArgv...)
		c.initialize(map[string]any{"experimentalApi": true})
		thread := c.thread(map[string]any{"sandbox": "read-only", "approvalPolicy": "never"})
		c.told(thread, "SAY: the first")
		c.quit()
		w.write("config.toml", unhurriedCodex+after+"\n[thread]\non_stale_tools = \"fork\"\n")
		c = w.open(proxyArgv...)
		c.initialize(map[string]any{"experimentalApi": true})
		result := c.must("thread/resume", map[string]any{"threadId": thread})
		if fork := editor.Member(result, "thread", "id"); fork == thread {
			t.Errorf("it is no fork: %s", result)
		}
		if sandbox, approval := editor.Member(result, "sandbox", "type"), editor.Member(result, "approvalPolicy"); sandbox != "readOnly" || approval != "never" {
			t.Errorf("the fork has the sandbox %s and asks %s", sandbox, approval)
		}
		c.quit()
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
			t.Fatalf("answered with %s", result)
		}
		var told struct {
			Thread struct{ Turns []json.RawMessage }
		}
		if err := json.Unmarshal(result, &told); err != nil || len(told.Thread.Turns) != 2 {
			t.Errorf("the client is shown %d turns", len(told.Thread.Turns))
		}
		c.waitFor(0, "warning", func(m editor.Message) bool {
			return m.Param("threadId") == fork && strings.Contains(m.Param("message"), thread)
		})
		if told := c.calls(fork, "comes", "{}"); !strings.Contains(told, "come") {
			t.Errorf("the model is told %s", told)
		}
		requests := w.model.Requests()
		last := requests[len(requests)-1]
		for _, text := range []string{"the first", "the second", "speak in verse"} {
			if !last.Contains(text) {
				t.Errorf("the model was not told %q", text)
			}
		}
		// The client's own tool came along.
		turn, mark := c.begin(fork, "CALL: mine {}")
		m := c.waitFor(mark, toolCall, nil)
		if err := c.Reply(m, map[string]any{"contentItems": []any{}, "success": true}); err != nil {
			t.Fatal(err)
		}
		c.end(fork, turn, mark)
		c.quit()

		// The fork is a thread like any other, and not out of date.
		c = w.open(proxyArgv...)
		c.initialize(map[string]any{"experimentalApi": true})
		if result := c.resume(fork, map[string]any{}); editor.Member(result, "thread", "id") != fork {
			t.Errorf("the fork is resumed as %s", result)
		}
		c.told(fork, "SAY: on")
		if requests = w.model.Requests(); !requests[len(requests)-1].Contains("the first") {
			t.Error("the history is lost with the process")
		}
		c.quit()
	})
}
