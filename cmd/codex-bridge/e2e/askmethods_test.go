//go:build linux

package e2e_test

import (
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// With policy.methods = "ask" a user decides about a client's request. The policy decides about an
// allowed request as about others.
func TestAskMethodAsksUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: sessionPolicy + "[policy.methods]\n\"thread/name/set\" = \"ask\"\n\"turn/start\" = \"ask\"\n[approvals]\ntimeout = \"1s\"\n"})
	c := w.open(proxyArgv...)
	c.initialize(map[string]any{"experimentalApi": true, "bridge": map[string]any{"version": 1, "hooks": []string{"permissionRequest"}}})
	thread := c.thread(nil)

	rename := func(name string, answer map[string]any) *editor.Error {
		t.Helper()
		mark := c.Mark()
		failed := make(chan *editor.Error, 1)
		go func() {
			_, err := c.Call(c.ctx, "thread/name/set", map[string]any{"threadId": thread, "name": name})
			failed <- err
		}()
		m := c.waitFor(mark, "bridge/hook", nil)
		if event, method, said := m.Param("event"), m.Param("payload", "tool_name"), m.Param("payload", "tool_input", "name"); event != "permissionRequest" || method != "thread/name/set" || said != name {
			t.Errorf("the user was asked %s", m.Raw)
		}
		c.must("model/list", map[string]any{}) // other requests do not wait for the user
		if answer != nil {
			if err := c.Reply(m, answer); err != nil {
				t.Fatal(err)
			}
		}
		return <-failed
	}
	named := func() string {
		return editor.Member(c.must("thread/read", map[string]any{"threadId": thread}), "thread", "name")
	}
	if err := rename("yes", map[string]any{"decision": "allow"}); err != nil || named() != "yes" {
		t.Errorf("allowed: %v, the name is %q", err, named())
	}
	for _, test := range []struct {
		name   string
		answer map[string]any
		reason string
	}{
		{"no", map[string]any{"decision": "deny", "reason": "not this"}, "not this"},
		{"nothing", map[string]any{}, "refused"},
		{"late", nil, "no answer came within 1s"},
	} {
		if err := rename(test.name, test.answer); err == nil || err.Code != -32010 || !strings.Contains(err.Message, test.reason) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if named() != "yes" {
		t.Errorf("the name is %q after refusals", named())
	}

	// A turn that the user allowed has the policy's sandbox, whatever the client requests.
	mark := c.Mark()
	go func() {
		p := input(thread, "SAY: hello")
		p["sandboxPolicy"] = map[string]any{"type": "dangerFullAccess"}
		_, _ = c.Call(c.ctx, "turn/start", p)
	}()
	if err := c.Reply(c.waitFor(mark, "bridge/hook", nil), map[string]any{"decision": "allow"}); err != nil {
		t.Fatal(err)
	}
	applied := c.waitFor(mark, "bridge/policy/applied", func(m editor.Message) bool { return m.Param("method") == "turn/start" })
	if applied.Param("verdict") != "rewrite" {
		t.Errorf("the turn: %s", applied.Raw)
	}
	c.waitFor(mark, "turn/completed", nil)
	c.closeAndWait()

	// Without a user to ask, the request is refused with the reason.
	c = w.open(proxyArgv...).initializeWithBridge()
	if err := c.mustFail("thread/name/set", map[string]any{"threadId": thread, "name": "x"}); err.Code != -32010 || !strings.Contains(err.Message, "a person must consent") {
		t.Error(err)
	}
	c.closeAndWait()
}

// A policy can deny a method of the bridge. "ask" for such a method also denies it, since the bridge does
// not ask about its own methods.
func TestPolicyDeniesBridgeMethods(t *testing.T) {
	t.Parallel()
	for verdict, denied := range map[string]bool{"": false, "deny": true, "ask": true} {
		config := ""
		if verdict != "" {
			config = "[policy.methods]\n\"bridge/turn/run\" = \"" + verdict + "\"\n"
		}
		w := newWorld(t, options{config: sessionPolicy + config})
		c := w.open(proxyArgv...)
		c.initialize(map[string]any{"experimentalApi": true, "bridge": map[string]any{"version": 1}})
		_, err := c.Call(c.ctx, "bridge/turn/run", map[string]any{"sessionKey": "s", "input": "SAY: hello"})
		if (err != nil) != denied || denied && (err.Code != -32010 || !strings.Contains(err.Message, `policy.methods."bridge/turn/run"`)) {
			t.Errorf("%s: %v", config, err)
		}
		if len(w.model.Requests()) == 0 != denied {
			t.Errorf("%s: the model got %d requests", config, len(w.model.Requests()))
		}
		c.closeAndWait()
	}
}

// A client without hooks that shows elicitations is asked by one. Any answer but "accept" refuses.
func TestAskMethodAsksByElicitation(t *testing.T) {
	t.Parallel()
	for name, capabilities := range map[string]map[string]any{
		"the extension":           {"experimentalApi": true, "extensions": map[string]any{"openai/form": map[string]any{}}},
		"the older field":         {"experimentalApi": true, "mcpServerOpenaiFormElicitation": true},
		"the bridge's capability": {"experimentalApi": true, "bridge": map[string]any{"version": 1, "elicitations": true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: sessionPolicy + "[policy.methods]\n\"thread/name/set\" = \"ask\"\n[approvals]\ntimeout = \"1s\"\n"})
			c := w.open(proxyArgv...)
			c.initialize(capabilities)
			thread := c.thread(nil)
			long := strings.Repeat("a long name ", 300)
			for _, test := range []struct {
				name   string
				answer any
				reason string // "": allowed
			}{
				{long, map[string]any{"action": "accept"}, ""},
				{"yes", map[string]any{"action": "accept", "content": map[string]any{}, "_meta": nil}, ""},
				{"no", map[string]any{"action": "decline"}, "the user refused it"},
				{"closed", map[string]any{"action": "cancel"}, "the user refused it"},
				{"nothing", map[string]any{}, "it has no action"},
				{"words", "yes", "can't be read"},
				{"late", nil, "no answer came within 1s"},
			} {
				mark := c.Mark()
				failed := make(chan *editor.Error, 1)
				go func() {
					_, err := c.Call(c.ctx, "thread/name/set", map[string]any{"threadId": thread, "name": test.name})
					failed <- err
				}()
				m := c.waitFor(mark, "mcpServer/elicitation/request", nil)
				if m.Param("threadId") != thread || m.Param("serverName") != "codex-bridge" || m.Param("mode") != "form" ||
					!strings.Contains(m.Param("message"), `Allow thread/name/set?`) || !strings.Contains(m.Param("message"), test.name) && !strings.Contains(m.Param("message"), "more characters") {
					t.Errorf("the user was asked %s", m.Raw)
				}
				if test.answer != nil {
					if err := c.Reply(m, test.answer); err != nil {
						t.Fatal(err)
					}
				}
				err := <-failed
				if test.reason == "" && err != nil || test.reason != "" && (err == nil || err.Code != -32010 || !strings.Contains(err.Message, test.reason)) {
					t.Errorf("%s: %v", test.name, err)
				}
				c.waitFor(mark, "serverRequest/resolved", nil)
			}
			if got := editor.Member(c.must("thread/read", map[string]any{"threadId": thread}), "thread", "name"); got != "yes" {
				t.Errorf("the name is %q", got)
			}
			// The decision log has the parts that the question omits.
			allowed, problems, _ := w.runCommand("decisions", "list", "--json", "--verdict", "accept")
			if !strings.Contains(allowed, `the user allowed it with {`) || !strings.Contains(allowed, strings.TrimSpace(long)) {
				t.Errorf("the consents on record: %s\n%s", allowed, problems)
			}
			c.closeAndWait()
		})
	}
}
