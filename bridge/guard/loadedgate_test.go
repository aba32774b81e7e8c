package guard_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/rpc"
)

// oneGate is a GateRecord of one thread.
type oneGate struct {
	gated bool
	err   error // of reading it
}

func (r *oneGate) SetGate(_ context.Context, _ string, gated bool, _, _ string) error {
	r.gated = gated
	return nil
}

func (r *oneGate) Gate(context.Context, string) (gated bool, known, roots string, found bool, err error) {
	return r.gated && r.err == nil, "", "", r.err == nil, r.err
}

func (*oneGate) DeleteGate(context.Context, string) error { return nil }

// Codex ignores the approval policy in a resume of a thread that it has in memory. If the guard no longer
// knows the thread, the bridge goes on asking about each of its commands, also if its record can't be read.
func TestResumeOfLoadedThreadKeepsGate(t *testing.T) {
	for _, test := range []struct {
		name       string
		started    string // the approval policy
		unreadable error
		loaded     bool
		shown      string // of the resume with on-request
	}{
		{"loaded", "untrusted", nil, true, "untrusted"},
		{"loaded, not asked about", "on-request", nil, true, "on-request"},
		{"not loaded", "untrusted", nil, false, "on-request"},
		{"loaded, without a record", "untrusted", errors.New("the disk is full"), true, "untrusted"},
	} {
		c, g, w := converse(t, strings.Replace(loosePolicy, "gate = false", "gate = true", 1), guard.NoRecord)
		record := &oneGate{err: test.unreadable}
		g.SetGateRecord(record)
		loaded := ""
		if test.loaded {
			loaded = `"` + loadedThread + `"`
		}
		answers := map[string]string{
			"thread/loaded/list": `{"data":[` + loaded + `],"nextCursor":null}`,
			"config/read":        `{"config":{},"layers":[]}`,
		}
		for _, method := range []string{"thread/start", "thread/resume"} {
			answers[method] = `{"thread":{"id":"` + loadedThread + `"},"approvalPolicy":"on-request",` + strings.ReplaceAll(strings.TrimSuffix(threadAnswer, "}"), "$start", w.StartFolder)
		}
		params := `"cwd":"` + w.StartFolder + `","sandbox":"read-only","approvalsReviewer":"user","approvalPolicy":"`
		if shown := approvalOfOpened(t, c, "thread/start", `{`+params+test.started+`"}`, answers); shown != test.started {
			t.Errorf("%s: the started thread is shown as %s", test.name, shown)
		}
		c.Play("ends what the guard knows", `codex> {"method":"thread/archived","params":{"threadId":"`+loadedThread+`"}}
editor< {"method":"thread/archived","params":{"threadId":"`+loadedThread+`"}}
`)
		shown := approvalOfOpened(t, c, "thread/resume", `{"threadId":"`+loadedThread+`",`+params+`on-request"}`, answers)
		if shown != test.shown || record.gated != (shown == "untrusted") {
			t.Errorf("%s: the resumed thread is shown as %s, and recorded as %t", test.name, shown, record.gated)
		}
	}
}

const loadedThread = "01900000-0000-7000-8000-000000000001"

// approvalOfOpened opens a thread as the client, answers as Codex, and returns the approval policy that the
// client is shown.
func approvalOfOpened(t *testing.T, c *bridgetest.Conversation, method, params string, results map[string]string) string {
	t.Helper()
	c.EditorSends(`{"id":"open","method":"` + method + `","params":` + params + `}`)
	for {
		select {
		case line := <-c.CodexReceives():
			m, err := rpc.ParseMessage([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			c.CodexSends(fmt.Sprintf(`{"id":%s,"result":%s}`, m.ID.Raw(), results[m.Method]))
		case line := <-c.EditorReceives():
			m, err := rpc.ParseMessage([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			if shown, opened := m.Result.Get("approvalPolicy").Text(); opened {
				return shown
			}
			if m.Kind == rpc.Response {
				t.Fatalf("%s: %s", method, line)
			}
		}
	}
}
