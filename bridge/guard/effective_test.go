package guard_test

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// The mode of an entry says whether the decision applied: under audit it is enforce, too, where the bridge answers Codex,
// or changes or refuses something in each mode. Its digest is that of the message, and empty without one.
func TestEntriesSayWhetherTheyApplied(t *testing.T) {
	for _, mode := range []string{"enforce", "audit"} {
		b := &book{}
		c, g, _ := converse(t, strings.Replace(strictPolicy, "[policy]\n", "[policy]\nmode = \""+mode+"\"\n", 1), b)
		opens(c, "thread/start", "t1", "untrusted")
		line := []byte(`{"method":"item/commandExecution/requestApproval","id":0,"params":{"threadId":"t1"}}`)
		asked, err := rpc.ParseEnvelope(line)
		if err != nil {
			t.Fatal(err)
		}
		unreadable := `{"id":7,"result":{"decision":"accept"},"result":{}}`
		for _, test := range []struct {
			name string
			do   func()
			line string
		}{
			{"a declined question", func() { _ = g.RecordAnswer(t.Context(), asked, policy.Deny, policy.RuleNobody, "x", "") }, string(line)},
			{"a grant", func() { _ = g.RecordAnswer(t.Context(), asked, policy.Accept, "approvals.remember", "x", "") }, string(line)},
			{"a changed question", func() { g.RecordChange(t.Context(), asked, line, policy.Change{Field: "params.x"}) }, string(line)},
			{"a denied call", func() {
				g.RecordDenied(t.Context(), guard.DeniedCall{Event: "preToolUse", Thread: "t1", Payload: line})
			}, string(line)},
			{"an unreadable answer", func() {
				c.Play("unreadable", `codex>  {"id":7,"method":"item/tool/requestUserInput","params":{"threadId":"t1","turnId":"u","questions":[]}}
editor< {"id":7,"method":"item/tool/requestUserInput","params":"$params"}
editor> `+unreadable+`
editor< {"id":null,"error":{"code":-32700,"message":"<text>"}}
codex<  {"id":7,"error":{"code":-32700,"message":"<text>"}}
`)
			}, unreadable},
			{"a hook without an answer", func() { g.UnansweredHook(t.Context(), "t1", "u", "PreToolUse", "late") }, ""},
		} {
			b.mu.Lock()
			b.entries = nil
			b.mu.Unlock()
			test.do()
			b.mu.Lock()
			digest := ""
			if test.line != "" {
				digest = decision.Sum([]byte(test.line))
			}
			switch {
			case len(b.entries) != 1:
				t.Errorf("%s, %s: the log has %+v", mode, test.name, b.entries)
			case b.entries[0].Mode != "enforce" || b.entries[0].Message != digest:
				t.Errorf("%s, %s: the mode is %q and the digest %q, want enforce and %q", mode, test.name, b.entries[0].Mode, b.entries[0].Message, digest)
			}
			b.mu.Unlock()
		}
	}
}
