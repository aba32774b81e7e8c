package guard_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/rpc"
)

// The user reads the refusal of a call once, also if several parts report it, and why a turn ends without a hook.
func TestUserReadsRefusals(t *testing.T) {
	b := &book{}
	c, g, w := converse(t, strictPolicy, b)
	opens(c, "thread/start", "t1", "untrusted")
	use := bash(t, "git push", w.StartFolder)
	use.ID = "call"
	if refusal := g.StartCall(t.Context(), "t1", "u", use.ID, "", nil); refusal != "" {
		t.Fatal(refusal)
	}
	for range 2 {
		if g.Tool(t.Context(), "t1", "u", use, []byte("call")).Refusal == "" {
			t.Error("the call is not refused")
		}
		g.WarnRefusedCall("t1", "u", use.ID, "git push", "a handler denies it")
		g.FailedHook(t.Context(), "t1", "u", "preToolUse", "No such\nfile")
	}
	for _, want := range []string{
		`codex-bridge has refused \"git push\": Pushing is done by people: git push. The setting is policy.rule in user `,
		"codex-bridge has interrupted the turn: the bridge's hook preToolUse did not run or has failed, ",
	} {
		if line := <-c.EditorReceives(); !strings.Contains(line, `"method":"warning"`) || !strings.Contains(line, `"threadId":"t1"`) || !strings.Contains(line, want) {
			t.Errorf("the user reads %s", line)
		}
	}
	g.WarnRefusedCall("t9", "u", "other", "git push", "its thread is unknown to the client")
	g.WarnRefusedCall("t1", "u", "", "", "the last one")
	if line := <-c.EditorReceives(); !strings.Contains(line, "codex-bridge has refused a tool call: the last one") {
		t.Errorf("the user reads %s", line)
	}
	failed := b.entries[1] // between two refusals
	if n := len(b.entries); n != 3 || failed.Method != "hook/completed" || failed.Verdict != "deny" || failed.Turn != "u" || !strings.Contains(failed.Reason, `"No such\nfile"`) {
		t.Errorf("%d entries; the last is %+v", n, failed)
	}
}

// Codex can't start a hook in a folder that was removed, so a turn there is refused, and logged.
func TestTurnInRemovedFolder(t *testing.T) {
	b := &book{}
	c, _, w := converse(t, strictPolicy, b)
	opens(c, "thread/start", "t1", "untrusted")
	if err := os.Remove(w.StartFolder); err != nil {
		t.Fatal(err)
	}
	c.EditorSends(`{"id":1,"method":"turn/start","params":{"threadId":"t1","input":[]}}`)
	if line := <-c.EditorReceives(); !strings.Contains(line, "can't start the bridge's hooks in the folder "+w.StartFolder) || !strings.Contains(line, "create the folder again") {
		t.Errorf("the client gets %s", line)
	}
	if len(b.entries) != 1 || b.entries[0].Verdict != "deny" || b.entries[0].Method != "turn/start" {
		t.Errorf("the log has %+v", b.entries)
	}
}

// A call that the bridge can't read is denied under audit, too. It is logged as denied, and the user reads it once.
func TestUnreadableCallIsLogged(t *testing.T) {
	for _, mode := range []string{"enforce", "audit"} {
		b := &book{}
		c, g, _ := converse(t, strings.Replace(strictPolicy, "[policy]\n", "[policy]\nmode = \""+mode+"\"\n", 1), b)
		opens(c, "thread/start", "t1", "untrusted")
		b.entries = nil
		g.RefuseUnreadable(t.Context(), guard.UnreadableCall{
			Event: "PreToolUse", Thread: "t1", Turn: "u", ID: "call", Tool: "apply_patch", Reason: errors.New("it is too long"), Payload: []byte("{"),
		})
		g.WarnRefusedCall("t1", "u", "call", "apply_patch", "it is too long")
		g.WarnRefusedCall("t1", "u", "", "", "the last one")
		for _, want := range []string{`codex-bridge has refused \"apply_patch\": it is too long`, "the last one"} {
			if line := <-c.EditorReceives(); !strings.Contains(line, want) {
				t.Errorf("%s: the user reads %s", mode, line)
			}
		}
		if n := len(b.entries); n != 1 || b.entries[0].Method != "hook/preToolUse" || b.entries[0].Mode != "enforce" || b.entries[0].Verdict != "deny" || b.entries[0].Thread != "t1" || b.entries[0].Reason != "it is too long" {
			t.Errorf("%s: the log has %+v", mode, b.entries)
		}
	}
}

// A line that breaks the protocol is in the decision log, and counts. The error about params has data.
func TestRefusedLines(t *testing.T) {
	b := &book{}
	_, g, _ := converse(t, strictPolicy, b)
	line := []byte(`{"id":7,"method":"thread/list","params":[]}`)
	m, err := rpc.ParseMessage(line)
	if err != nil {
		t.Fatal(err)
	}
	refused := g.RefusedLine(t.Context(), m, line, rpc.Errorf(rpc.CodeInvalidParams, "params is an array"))
	if want := `{"method":"thread/list","rule":"protocol","reason":"params is an array"}`; refused.Code != rpc.CodeInvalidParams || string(refused.Data) != want {
		t.Errorf("the error is %d, %s", refused.Code, refused.Data)
	}
	if refused = g.RefusedLine(t.Context(), nil, []byte("{{"), rpc.Errorf(rpc.CodeParse, "no JSON")); refused.Data != nil {
		t.Errorf("data of an unreadable line: %s", refused.Data)
	}
	var logged []string
	for _, d := range b.entries {
		logged = append(logged, d.Method+" "+d.Verdict+" "+d.Rule+" "+d.Reason)
	}
	if want := []string{"thread/list deny protocol params is an array", "message deny protocol no JSON"}; !slices.Equal(logged, want) {
		t.Errorf("logged are %q", logged)
	}
	if _, n := g.Counts(); n != 2 {
		t.Errorf("%d refusals are counted", n)
	}
}
