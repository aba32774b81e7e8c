//go:build linux

package e2e_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

const boundPolicy = "[policy]\nmode = \"enforce\"\napproval = [\"on-request\", \"untrusted\"]\nsandbox = \"workspace-write\"\n"

// effortOf returns the reasoning effort of the last request to the model; "" for none.
func (w *world) effortOf() string {
	w.t.Helper()
	requests := w.model.Requests()
	var body struct{ Reasoning struct{ Effort string } }
	if err := json.Unmarshal(requests[len(requests)-1].Body, &body); err != nil {
		w.t.Fatal(err)
	}
	return body.Reasoning.Effort
}

// A session's turn restores its policies, sandbox and tier after a turn of the client in its thread that was less
// strict; the policy decides each time. The next process does so for a resumed thread.
func TestBoundTurnRestoresSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: boundPolicy})
	c := w.open(proxyArgv...).initializeWithBridge()
	first := c.runSessionTurn("chat", "SAY: one", map[string]any{"thread": map[string]any{
		"cwd": w.workspace, "approvalPolicy": "untrusted", "sandbox": "read-only", "serviceTier": "fast", "model": "gpt-5.4",
	}})
	for range 2 {
		mark := c.Mark()
		c.must("turn/start", map[string]any{
			"threadId": first.ThreadID, "input": []any{map[string]any{"type": "text", "text": "SAY: mine"}},
			"approvalPolicy": "on-request", "sandboxPolicy": map[string]any{"type": "dangerFullAccess"}, "serviceTier": "flex",
		})
		c.waitFor(mark, "thread/settings/updated", func(m editor.Message) bool {
			return m.Param("threadSettings", "approvalPolicy") == "on-request" && m.Param("threadSettings", "serviceTier") == "flex" &&
				m.Param("threadSettings", "sandboxPolicy", "type") == "workspaceWrite"
		})
		c.waitFor(mark, "turn/completed", nil)
		mark = c.Mark()
		if r := c.runSessionTurn("chat", "SAY: two", nil); r.Text != "two" || r.ThreadID != first.ThreadID {
			t.Fatalf("%+v", r)
		}
		c.waitFor(mark, "thread/settings/updated", func(m editor.Message) bool {
			return m.Param("threadSettings", "approvalPolicy") == "untrusted" && m.Param("threadSettings", "serviceTier") == "priority" &&
				m.Param("threadSettings", "sandboxPolicy", "type") == "readOnly"
		})
		c.closeAndWait()
		c = w.open(proxyArgv...).initializeWithBridge()
		c.must("thread/resume", map[string]any{"threadId": first.ThreadID})
	}
	c.closeAndWait()
}

// A session's turn keeps changes by thread/settings/update, and what a turn of the client has made stricter, also in
// the next process.
func TestBoundTurnKeepsChangeOfSettings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		update            map[string]any
		approval, sandbox string // of the turn
		slashTmp          bool
	}{
		"sandbox":          {map[string]any{"sandboxPolicy": map[string]any{"type": "readOnly"}}, "on-request", "readOnly", true},
		"profile":          {map[string]any{"permissions": ":read-only"}, "on-request", "readOnly", true},
		"approvals":        {map[string]any{"approvalPolicy": "untrusted"}, "untrusted", "workspaceWrite", true},
		"temporary folder": {map[string]any{"sandboxPolicy": map[string]any{"type": "workspaceWrite", "excludeSlashTmp": true}}, "on-request", "workspaceWrite", false},
		"turn's sandbox":   {map[string]any{"sandboxPolicy": map[string]any{"type": "readOnly"}}, "on-request", "readOnly", true},
		"turn's approvals": {map[string]any{"approvalPolicy": "untrusted"}, "untrusted", "workspaceWrite", true},
		"set before":       {map[string]any{"approvalPolicy": "untrusted", "sandboxPolicy": map[string]any{"type": "readOnly"}}, "untrusted", "readOnly", true},
		"raised":           {map[string]any{"sandboxPolicy": map[string]any{"type": "workspaceWrite"}}, "on-request", "workspaceWrite", true},
	} {
		if !isSampledName(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: boundPolicy + "protected_paths = [\".github\"]\n"})
			c := w.open(proxyArgv...).initializeWithBridge()
			sandbox := "workspace-write"
			if name == "raised" {
				sandbox = "read-only"
			}
			first := c.runSessionTurn("chat", "SAY: one", map[string]any{"thread": map[string]any{"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": sandbox, "model": "gpt-5.4"}})
			if name == "set before" {
				c.must("bridge/turn/set", map[string]any{"sessionKey": "chat", "approvalPolicy": "on-request", "sandbox": "workspace-write"})
			}
			update := map[string]any{"threadId": first.ThreadID}
			maps.Copy(update, test.update)
			if strings.HasPrefix(name, "turn's ") {
				turn, mark := c.startTurnWith(first.ThreadID, "SAY: mine", test.update)
				c.waitTurn(first.ThreadID, turn, mark)
			} else {
				c.must("thread/settings/update", update)
			}
			for range 2 {
				if r := c.runSessionTurn("chat", "SAY: two", nil); r.ThreadID != first.ThreadID {
					t.Fatalf("%+v", r)
				}
				opened := c.must("thread/resume", map[string]any{"threadId": first.ThreadID})
				if got := editor.Member(opened, "sandbox", "type"); got != test.sandbox {
					t.Errorf("the sandbox is %s, want %s", got, test.sandbox)
				}
				if got := editor.Member(opened, "sandbox", "excludeSlashTmp") != "true"; test.sandbox == "workspaceWrite" && got != test.slashTmp {
					t.Errorf("/tmp is writable: %v", got)
				}
				if got := editor.Member(opened, "approvalPolicy"); got != test.approval {
					t.Errorf("the approval policy is %s, want %s", got, test.approval)
				}
				c.closeAndWait()
				c = w.open(proxyArgv...).initializeWithBridge()
			}
			c.closeAndWait()
		})
	}
}

// A stricter sandbox or approval policy of bridge/turn/set holds for the next turn, also if the client starts it by
// turn/start, or opens the session again in the next process.
func TestSetLimitsHoldForEachNextTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: boundPolicy})
	c := w.open(proxyArgv...).initializeWithBridge()
	thread := map[string]any{"thread": map[string]any{"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "workspace-write"}}
	plain := c.runSessionTurn("plain", "RUN: touch before", thread).ThreadID
	later := c.runSessionTurn("later", "SAY: one", thread).ThreadID
	c.must("bridge/turn/set", map[string]any{"sessionKey": "plain", "sandbox": "read-only"})
	c.must("bridge/turn/set", map[string]any{"sessionKey": "later", "sandbox": "read-only", "approvalPolicy": "untrusted"})
	c.runTurn(plain, "RUN: touch by-turn-start")
	c.closeAndWait()

	c = w.open(proxyArgv...).initializeWithBridge()
	opened := c.must("thread/start", map[string]any{"cwd": w.workspace, "bridge": map[string]any{"sessionKey": "later"}})
	if id, sandbox := editor.Member(opened, "thread", "id"), editor.Member(opened, "sandbox", "type"); id != later || sandbox != "readOnly" {
		t.Errorf("the thread %s with the sandbox %s, want %s with readOnly", id, sandbox, later)
	}
	c.runTurnAnswering(later, "RUN: touch after-restart", commandApproval, decision("decline"))
	c.closeAndWait()
	made, err := filepath.Glob(filepath.Join(w.workspace, "[a-z]*"))
	if err != nil || len(made) != 1 || filepath.Base(made[0]) != "before" {
		t.Errorf("files %v (%v), want before", made, err)
	}
}

// The model gets the effort for a level of thinking, and keeps it.
func TestEffortOfSessionReachesModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: boundPolicy})
	c := w.open(proxyArgv...).initializeWithBridge()
	c.runSessionTurn("chat", "SAY: one", map[string]any{"thread": map[string]any{"cwd": w.workspace, "model": "gpt-5.4"}})
	usual := w.effortOf()
	for _, tt := range []struct{ level, want string }{
		{"high", "high"}, {"", "high"}, {"minimal", "low"}, {"off", usual}, {"xhigh", "xhigh"}, {"bogus", usual}, {"", usual},
	} {
		if tt.level != "" {
			c.must("bridge/turn/set", map[string]any{"sessionKey": "chat", "effort": tt.level})
		}
		c.runSessionTurn("chat", "SAY: again", nil)
		if got := w.effortOf(); got != tt.want {
			t.Errorf("effort for %q: %q, want %q", tt.level, got, tt.want)
		}
	}
	// The client's own turn keeps the client's text.
	before := c.Mark()
	c.must("turn/start", map[string]any{
		"threadId": c.runSessionTurn("chat", "SAY: id", nil).ThreadID, "input": []any{map[string]any{"type": "text", "text": "SAY: mine"}}, "effort": "minimal",
	})
	c.waitFor(before, "thread/settings/updated", func(m editor.Message) bool { return m.Param("threadSettings", "effort") == "minimal" })
	c.closeAndWait()
}

// The model gets an image that a file URL names. URLs of other machines and of other files are
// omitted.
func TestMediaOfSessionReachesModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	png, err := base64.StdEncoding.DecodeString(pixel)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.workspace, "a b.png"), png, 0o600); err != nil {
		t.Fatal(err)
	}
	c := w.open(proxyArgv...).initializeWithBridge()
	file := "file://" + strings.ReplaceAll(filepath.Join(w.workspace, "a b.png"), " ", "%20")
	for _, tt := range []struct {
		item  map[string]any
		image bool
	}{
		{map[string]any{"type": "image", "url": file}, true},
		{map[string]any{"type": "media", "url": file}, true},
		{map[string]any{"type": "image", "url": "//unc/x.png"}, false},
		{map[string]any{"type": "media", "path": "//unc/x.png"}, false},
		{map[string]any{"type": "media", "path": filepath.Join(w.workspace, "notes.txt")}, false},
	} {
		seen := len(w.model.Requests())
		r := c.runSessionTurn(fmt.Sprint(tt.item), "", map[string]any{
			"input": []any{map[string]any{"type": "text", "text": "SAY: seen"}, tt.item},
		})
		if !strings.HasPrefix(r.Text, "seen") {
			t.Fatalf("%v: %+v", tt.item, r)
		}
		for _, request := range w.model.Requests()[seen:] {
			if got := request.Contains("data:image/png;base64,"); got != tt.image {
				t.Errorf("%v: image sent: %v", tt.item, got)
			}
			if request.Contains("unc/x.png") {
				t.Errorf("the model got %v", tt.item)
			}
		}
	}
	c.closeAndWait()
}

// The first turn of a session's new thread has the history. So has the first turn of a thread that
// replaces one that Codex lost.
func TestHistoryReachesModelOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: boundPolicy})
	history := map[string]any{"history": []any{
		map[string]any{"role": "user", "content": "The answer is " + strings.Repeat("long ", 10_000) + "."},
		map[string]any{"role": "assistant", "content": []any{
			map[string]any{"type": "text", "text": "I remember forty-two."}, map[string]any{"type": "toolCall", "name": "lookup", "arguments": map[string]any{"secret": "s3cr3t"}},
		}},
	}}
	// started is the number of user messages that contain the history.
	said := func() (n int) {
		requests := w.model.Requests()
		for _, item := range requests[len(requests)-1].Input {
			if strings.Contains(string(item), `"role":"user"`) && strings.Contains(string(item), "I remember forty-two.") {
				n++
			}
		}
		return n
	}
	c := w.open(proxyArgv...).initializeWithBridge()
	r := c.runSessionTurn("chat", "SAY: one", history)
	body := string(w.model.Requests()[0].Body)
	if r.Status != "completed" || said() != 1 || !strings.Contains(body, "tool call: lookup [input omitted]") || strings.Contains(body, "s3cr3t") {
		t.Errorf("%+v: the model got %.2000s", r, body)
	}
	if strings.Count(body, "long ") > 8000/5+1 { // a part of a block of 24,000 characters
		t.Error("the part of the history is too long")
	}
	if r = c.runSessionTurn("chat", "SAY: two", history); r.Text != "two" || said() != 1 {
		t.Errorf("%+v: history sent %d times", r, said())
	}
	c.closeAndWait()
	for _, file := range rollouts(t, w.home, r.ThreadID) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	c = w.open(proxyArgv...).initializeWithBridge()
	if r = c.runSessionTurn("chat", "SAY: three", history); !r.Recovered || r.Status != "completed" || said() != 1 {
		t.Errorf("%+v: history sent %d times", r, said())
	}
	c.closeAndWait()
}
