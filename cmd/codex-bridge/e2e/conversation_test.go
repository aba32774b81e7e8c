//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// conversation is an editor in a world. Its methods fail the test at unexpected responses, so that
// a test reads as a list of messages.
type conversation struct {
	*world
	*editor.Editor
	ctx context.Context

	malformed []int // indexes of lines that are not messages
}

// open starts argv with an editor.
func (w *world) open(argv ...string) *conversation {
	w.t.Helper()
	return &conversation{world: w, Editor: w.start(argv, editor.Options{}), ctx: deadline(w.t)}
}

// initialize does the handshake; nil capabilities mean experimentalApi.
func (c *conversation) initialize(capabilities map[string]any) {
	c.t.Helper()
	if _, err := c.Initialize(c.ctx, capabilities); err != nil {
		c.t.Fatalf("initialize: %v", err)
	}
}

// must is Call for a request that must succeed.
func (c *conversation) must(method string, params any) json.RawMessage {
	c.t.Helper()
	result, err := c.Call(c.ctx, method, params)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return result
}

// mustFail is Call for a request that must fail.
func (c *conversation) mustFail(method string, params any) *editor.Error {
	c.t.Helper()
	result, err := c.Call(c.ctx, method, params)
	switch {
	case err == nil:
		c.t.Fatalf("%s: result %s", method, result)
	case err.Code == 0:
		c.t.Fatal(err)
	}
	return err
}

// startThread starts a thread in the workspace and returns its id.
func (c *conversation) thread(params map[string]any) string {
	c.t.Helper()
	all := map[string]any{"cwd": c.workspace}
	for k, v := range params {
		all[k] = v
	}
	id := editor.Member(c.must("thread/start", all), "thread", "id")
	c.waitFor(0, "thread/started", func(m editor.Message) bool { return m.Param("thread", "id") == id })
	return id
}

// resume resumes a thread and waits for the last notification.
func (c *conversation) resume(thread string, params map[string]any) json.RawMessage {
	c.t.Helper()
	params["threadId"] = thread
	mark := c.Mark()
	result := c.must("thread/resume", params)
	c.waitFor(mark, "thread/goal/cleared", func(m editor.Message) bool { return m.Param("threadId") == thread })
	return result
}

// waitFor waits for a request or notification of the server.
func (c *conversation) waitFor(from int, method string, fits func(editor.Message) bool) editor.Message {
	c.t.Helper()
	m, err := c.Wait(c.ctx, from, func(m editor.Message) bool {
		return !m.Sent && m.Method == method && (fits == nil || fits(m))
	})
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return m
}

// input returns params of turn/start with a text.
func input(thread, text string) map[string]any {
	return map[string]any{
		"threadId": thread,
		"input":    []any{map[string]any{"type": "text", "text": text}},
	}
}

// startTurn starts a turn and returns its id and the index of the next message.
func (c *conversation) startTurn(thread, text string) (turn string, mark int) {
	c.t.Helper()
	return c.startTurnWith(thread, text, nil)
}

// startTurnWith is startTurn with more members.
func (c *conversation) startTurnWith(thread, text string, more map[string]any) (turn string, mark int) {
	c.t.Helper()
	params := input(thread, text)
	maps.Copy(params, more)
	mark = c.Mark()
	return editor.Member(c.must("turn/start", params), "turn", "id"), mark
}

// waitTurn waits for the end of a turn and returns its status.
func (c *conversation) waitTurn(thread, turn string, mark int) string {
	c.t.Helper()
	m := c.waitFor(mark, "turn/completed", func(m editor.Message) bool {
		return m.Param("threadId") == thread && m.Param("turn", "id") == turn
	})
	return m.Param("turn", "status")
}

// runTurn runs a turn without questions. It must complete.
func (c *conversation) runTurn(thread, text string) {
	c.t.Helper()
	turn, mark := c.startTurn(thread, text)
	if status := c.waitTurn(thread, turn, mark); status != "completed" {
		c.t.Fatalf("turn %q: status %q", text, status)
	}
}

// runTurnAnswering runs a turn with one request of the server, to which it responds with result.
func (c *conversation) runTurnAnswering(thread, text, question string, result any) {
	c.t.Helper()
	turn, mark := c.startTurn(thread, text)
	m := c.waitFor(mark, question, nil)
	if err := c.Reply(m, result); err != nil {
		c.t.Fatal(err)
	}
	c.waitTurn(thread, turn, mark)
}

// closeAndWait closes the input and checks the exit status.
func (c *conversation) closeAndWait() {
	c.t.Helper()
	c.CloseInput()
	exit, err := c.Exit(c.ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	if exit != (editor.Exit{}) {
		c.t.Fatalf("after the end of input: %v", exit)
	}
	c.drain()
}

// drain reads to the end of the server's output. The process may exit before all output is read.
func (c *conversation) drain() {
	c.t.Helper()
	if _, err := c.Wait(c.ctx, c.Mark(), func(editor.Message) bool { return false }); !errors.Is(err, editor.ErrClosed) {
		c.t.Fatal(err)
	}
}

const (
	commandApproval = "item/commandExecution/requestApproval"
	fileApproval    = "item/fileChange/requestApproval"
)

func decision(d string) map[string]any { return map[string]any{"decision": d} }

// conversations are compared between codex and codex-bridge.
var conversations = map[string]struct {
	options options
	hold    func(*world, []string) []*conversation
}{
	"handshake": {hold: func(w *world, argv []string) []*conversation {
		c := w.open(argv...)
		c.mustFail("thread/start", map[string]any{}) // not initialized
		c.initialize(nil)
		c.mustFail("initialize", map[string]any{"clientInfo": map[string]any{"name": "x", "version": "0"}})
		c.mustFail("no/such/method", map[string]any{})
		c.mustFail("thread/start", map[string]any{"sandbox": "readOnly"})
		c.mustFail("thread/start", map[string]any{"approvalPolicy": "on-failure"})
		c.mustFail("turn/start", input("00000000-0000-7000-8000-000000000000", "x"))
		c.mustFail("turn/start", map[string]any{})
		c.mustFail("thread/resume", map[string]any{"threadId": "no id"})
		c.must("model/list", map[string]any{})
		c.must("config/read", map[string]any{"includeLayers": true})
		c.must("account/read", map[string]any{"refreshToken": false})
		c.must("permissionProfile/list", map[string]any{"cwd": w.workspace})
		c.must("skills/list", map[string]any{"cwds": []string{w.workspace}})
		c.must("thread/list", map[string]any{})
		c.closeAndWait()
		return []*conversation{c}
	}},
	"ids": {hold: func(w *world, argv []string) []*conversation {
		c := w.open(argv...)
		for _, id := range []any{"initialize", "x-1", "1", 1, "ünïcode \"quoted\"\n", -7, 9007199254740993, ""} {
			method, params := "thread/list", map[string]any{}
			if id == "initialize" {
				method, params = "initialize", map[string]any{
					"clientInfo": map[string]any{"name": "x", "version": "0"}, "capabilities": map[string]any{},
				}
			}
			if _, err := c.CallID(c.ctx, id, method, params); err != nil {
				w.t.Fatalf("id %v: %v", id, err)
			}
		}
		c.mustFail("collaborationMode/list", map[string]any{}) // needs experimentalApi
		c.closeAndWait()
		return []*conversation{c}
	}},
	"text": {hold: func(w *world, argv []string) []*conversation {
		c := w.open(argv...)
		c.initialize(nil)
		thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
		c.runTurn(thread, "good day")
		c.runTurn(thread, "RUN: cat /etc/hostname >/dev/null && echo from the shell")
		c.runTurnAnswering(thread, "PATCH: new.txt\none", fileApproval, decision("accept"))
		c.must("thread/read", map[string]any{"threadId": thread, "includeTurns": true})
		c.must("thread/name/set", map[string]any{"threadId": thread, "name": "a name"})
		c.waitFor(0, "thread/name/updated", nil) // it follows the response: the end of input could drop it
		c.closeAndWait()
		return []*conversation{c}
	}},
	"approvals": {hold: func(w *world, argv []string) []*conversation {
		c := w.open(argv...)
		c.initialize(nil)
		thread := c.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
		c.runTurnAnswering(thread, "RUN: echo accepted", commandApproval, decision("accept"))
		c.runTurnAnswering(thread, "RUN: echo declined", commandApproval, decision("decline"))
		c.runTurnAnswering(thread, "RUN: echo cancelled", commandApproval, decision("cancel"))
		c.runTurnAnswering(thread, "ESCALATE: echo outside", commandApproval, decision("accept"))
		c.runTurnAnswering(thread, "PATCH: accepted.txt\none\ntwo", fileApproval, decision("accept"))
		c.runTurnAnswering(thread, "PATCH: declined.txt\none", fileApproval, decision("decline"))
		c.closeAndWait()
		return []*conversation{c}
	}},
	"interrupt": {hold: func(w *world, argv []string) []*conversation {
		c := w.open(argv...)
		c.initialize(nil)
		thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
		turn, mark := c.startTurn(thread, "SLOW: 3600000")
		c.waitFor(mark, "item/agentMessage/delta", nil)
		c.must("turn/interrupt", map[string]any{"threadId": thread, "turnId": turn})
		if status := c.waitTurn(thread, turn, mark); status != "interrupted" {
			w.t.Errorf("status %q", status)
		}
		c.mustFail("turn/interrupt", map[string]any{"threadId": thread, "turnId": turn})
		c.runTurn(thread, "and on")
		c.closeAndWait()
		return []*conversation{c}
	}},
	// During an open question: a steer would cut a message off before or after its next delta.
	"steer": {hold: func(w *world, argv []string) []*conversation {
		c := w.open(argv...)
		c.initialize(nil)
		thread := c.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
		turn, mark := c.startTurn(thread, "RUN: echo first")
		question := c.waitFor(mark, commandApproval, nil)
		steer := input(thread, "and more")
		steer["expectedTurnId"] = thread // not the id of a turn
		c.mustFail("turn/steer", steer)
		steer["expectedTurnId"] = turn
		c.must("turn/steer", steer)
		if err := c.Reply(question, decision("accept")); err != nil {
			w.t.Fatal(err)
		}
		if status := c.waitTurn(thread, turn, mark); status != "completed" {
			w.t.Errorf("status %q", status)
		}
		c.mustFail("turn/steer", steer) // no turn is running
		c.closeAndWait()
		return []*conversation{c}
	}},
	"fail": {hold: func(w *world, argv []string) []*conversation {
		c := w.open(argv...)
		c.initialize(nil)
		thread := c.thread(nil)
		turn, mark := c.startTurn(thread, "FAIL")
		c.waitTurn(thread, turn, mark)
		turn, mark = c.startTurn(thread, "FAIL: 503")
		c.waitTurn(thread, turn, mark)
		c.closeAndWait()
		return []*conversation{c}
	}},
	"tools": {
		options: options{codexConfig: "suppress_unstable_features_warning = true\n[features]\ndefault_mode_request_user_input = true\nrequest_permissions_tool = true\n"},
		hold: func(w *world, argv []string) []*conversation {
			c := w.open(argv...)
			c.initialize(nil)
			thread := c.thread(map[string]any{
				"approvalPolicy": "on-request", "sandbox": "read-only",
				"dynamicTools": []any{map[string]any{
					"name": "lookup_ticket", "description": "Finds a ticket.",
					"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"id": map[string]any{"type": "string"}}},
				}},
			})
			c.runTurnAnswering(thread, `CALL: lookup_ticket {"id":"T-1"}`, "item/tool/call", map[string]any{
				"contentItems": []any{map[string]any{"type": "inputText", "text": "ticket T-1: open"}}, "success": true,
			})
			c.runTurnAnswering(thread, "ASK: Shall I?", "item/tool/requestUserInput", map[string]any{
				"answers": map[string]any{"choice": map[string]any{"answers": []string{"No"}}},
			})
			c.runTurnAnswering(thread, `CALL: request_permissions {"reason":"to write","permissions":{"file_system":{"write":["`+w.root+`/elsewhere"]}}}`,
				"item/permissions/requestApproval", map[string]any{"permissions": map[string]any{}, "scope": "turn"})
			turn, mark := c.startTurn(thread, `CALL: lookup_ticket {}`)
			if err := c.ReplyError(c.waitFor(mark, "item/tool/call", nil), &editor.Error{Code: -32000, Message: "no"}); err != nil {
				w.t.Fatal(err)
			}
			c.waitTurn(thread, turn, mark)
			c.closeAndWait()
			return []*conversation{c}
		},
	},
	"resume": {hold: func(w *world, argv []string) []*conversation {
		first := w.open(argv...)
		first.initialize(map[string]any{"experimentalApi": false, "optOutNotificationMethods": []string{"item/agentMessage/delta"}})
		thread := first.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
		first.runTurn(thread, "good day")
		first.resume(thread, map[string]any{"approvalPolicy": "never"})
		first.closeAndWait()
		second := w.open(argv...)
		second.initialize(nil)
		second.resume(thread, map[string]any{"approvalPolicy": "on-request"})
		second.runTurn(thread, "good day again")
		second.must("thread/settings/update", map[string]any{"threadId": thread, "approvalPolicy": "untrusted"})
		second.waitFor(0, "thread/settings/updated", func(m editor.Message) bool {
			return m.Param("threadSettings", "approvalPolicy") == "untrusted"
		})
		fork := editor.Member(second.must("thread/fork", map[string]any{"threadId": thread}), "thread", "id")
		second.waitFor(0, "thread/started", func(m editor.Message) bool { return m.Param("thread", "id") == fork })
		second.runTurn(fork, "good day to the fork")
		second.closeAndWait()
		return []*conversation{first, second}
	}},
	// Codex ignores lines that are not messages, and codex-bridge may respond with its own error
	// (contract.md, section 3). The test compares only the later messages.
	"malformed": {hold: func(w *world, argv []string) []*conversation {
		c := w.open(argv...)
		c.initialize(nil)
		for _, line := range []string{
			"", "   ", "{", "nonsense", "null", "[]", "[1]", `"x"`,
			`[{"id":1001,"method":"thread/list","params":{}},{"id":1002,"method":"thread/list","params":{}}]`,
			`{"id":null,"method":"thread/list","params":{}}`,
			`{"id":1.5,"method":"thread/list","params":{}}`,
			`{"id":1003,"id":1004,"method":"thread/list","params":{}}`,
			`{"id":1005,"method":"thread/list","params":{}}{"id":1006,"method":"thread/list","params":{}}`,
			"\ufeff" + `{"id":1007,"method":"thread/list","params":{}}`,
		} {
			c.malformed = append(c.malformed, c.Mark())
			if err := c.Send([]byte(line)); err != nil {
				w.t.Fatal(err)
			}
		}
		c.must("thread/list", map[string]any{})
		// Parsed as Codex does, or the comparison fails.
		for i, line := range []string{
			`{"id":2000,"m\u0065thod":"thread/list","params":{}}`,
			`{"jsonrpc":"2.0","id":2001,"method":"thread/list","params":{}}` + "\r",
			" \t" + `{ "params" : {} , "method" : "thread/list" , "id" : 2002 }` + "  ",
			`{"id":2003,"method":"thread/list","params":{},"unknown":[1,{"a":null}]}`,
			`{"id":2004,"method":"thread/list"}`,
			`{"id":2005,"method":"thread/list","params":null}`,
			`{"id":2006,"method":"no/such","params":{}}`,
		} {
			if err := c.Send([]byte(line)); err != nil {
				w.t.Fatal(err)
			}
			id := strconv.Itoa(2000 + i)
			if _, err := c.Wait(c.ctx, 0, func(m editor.Message) bool {
				return !m.Sent && m.IsAnswer() && string(m.ID) == id
			}); err != nil {
				w.t.Fatalf("%s: %v", line, err)
			}
		}
		if err := c.Send([]byte(`{"id":3000,"result":{}}`)); err != nil { // a response without a request
			w.t.Fatal(err)
		}
		c.must("thread/list", map[string]any{})
		c.closeAndWait()
		return []*conversation{c}
	}},
}

// keepTranscript writes a transcript into the folder of CODEX_BRIDGE_E2E_KEEP.
func keepTranscript(t *testing.T, text string) {
	dir := os.Getenv("CODEX_BRIDGE_E2E_KEEP")
	if dir == "" {
		return
	}
	f, err := os.CreateTemp(dir, strings.ReplaceAll(t.Name(), "/", "-")+"-*.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Error(err)
	}
}

// Without a configuration codex-bridge is transparent: the same conversation has the same
// transcript.
func TestTransparent(t *testing.T) {
	t.Parallel()
	for name, conversation := range conversations {
		if !isSampledName(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hold := func(argv []string) string {
				w := newWorld(t, conversation.options)
				text := transcript(conversation.hold(w, argv))
				keepTranscript(t, text)
				return text
			}
			direct := hold([]string{codexPath, "app-server"})
			compare(t, direct, hold(proxyArgv))
		})
	}
}
