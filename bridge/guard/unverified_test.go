package guard_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy/toolcall"
)

const unverified = "its settings are not verified"

// If Codex reports settings that the policy does not allow, the running turn can do nothing more:
// no tool runs, and Codex's requests are declined, including those that the client already has.
func TestRevokedThreadDoesNothing(t *testing.T) {
	const asked = `{"method":"item/commandExecution/requestApproval","id":"ask","params":{"threadId":"t1","turnId":"u","itemId":"i","command":"ls","cwd":"$start","reason":"<text>"}}`
	const settings = `{"method":"thread/settings/updated","params":{"threadId":"t1","threadSettings":{"approvalPolicy":"APPROVAL","approvalsReviewer":"user","sandboxPolicy":{"type":"readOnly","networkAccess":false},"activePermissionProfile":null,"cwd":"$start","model":"gpt-5.5"}}}`
	for approval, forgotten := range map[string]bool{"untrusted": false, "never": true} {
		t.Run(approval, func(t *testing.T) {
			c, g, w := converse(t, strictPolicy, guard.NoRecord)
			opens(c, "thread/start", "t1", "untrusted")
			c.Play("question", "codex> "+strings.Replace(asked, `,"reason":"<text>"`, "", 1)+"\neditor< "+asked+"\n")
			said := strings.Replace(settings, "APPROVAL", approval, 1)
			c.Play("settings", "codex> "+said+"\neditor< "+said+"\n")
			answer := "accept"
			if forgotten {
				answer = "decline"
			}
			c.Play("answer", `editor> {"id":"ask","result":{"decision":"accept"}}
codex< {"id":"ask","result":{"decision":"`+answer+`"}}
`)
			for _, tool := range []string{"Bash", "apply_patch", "mcp__tickets__read", "lookup"} {
				use := bash(t, "ls", w.StartFolder)
				use.Name = tool
				got := g.Tool(t.Context(), "t1", "u", use, []byte(`{"session_id":"t1"}`)).Refusal
				if tool == "apply_patch" && !forgotten {
					continue // its paths are not known
				}
				if strings.Contains(got, unverified) != forgotten || !forgotten && got != "" {
					t.Errorf("%s: %q", tool, got)
				}
				if _, got := g.Confine(t.Context(), "t1", "u", use, []byte(`{"session_id":"t1"}`)); strings.Contains(got, unverified) != forgotten {
					t.Errorf("%s is confined: %q", tool, got)
				}
			}
		})
	}
}

// A tool call of a thread waits for the response to a pending resume of the thread.
func TestToolCallWaitsForResume(t *testing.T) {
	for name, wait := range map[string]time.Duration{"answered": time.Minute, "not answered": 50 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			c, g, w := converse(t, gatePolicy, guard.NoRecord)
			c.Play("resume", resumeT2)
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			refused := make(chan string)
			go func() { refused <- g.Tool(ctx, "t2", "u", bash(t, "ls", w.StartFolder), []byte(`{}`)).Refusal }()
			if name == "answered" {
				c.Play("answer", `
codex>  {"id":2,"result":{"thread":{"id":"t2"},"approvalPolicy":"on-request",`+threadAnswer+`
editor< {"id":2,"result":{"thread":{"id":"t2"},"approvalPolicy":"on-request",`+threadAnswer+`
`)
			}
			if got := <-refused; (got == "") != (name == "answered") || got != "" && !strings.Contains(got, unverified) {
				t.Errorf("the refusal is %q", got)
			}
		})
	}
}

// Of the threads that the client has not opened, only that of Codex's memories runs tools.
func TestMemoryWriterRunsTools(t *testing.T) {
	w := world(t)
	var err error
	if w.CodexHome, err = w.Paths.Canonical(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	g := guard.New(load(t, gatePolicy), w, guard.NoRecord, slog.New(slog.DiscardHandler))
	c := bridgetest.Start(t, g)
	c.Bind("start", w.StartFolder)
	startThread(c, "on-request")
	g.SetPolicy(load(t, strings.Replace(gatePolicy, `"untrusted", "on-request"`, `"untrusted"`, 1)))
	memories := filepath.Join(w.CodexHome, "memories_v2")
	for _, folder := range []string{memories, filepath.Join(w.CodexHome, "sessions")} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(w.StartFolder, filepath.Join(memories, "link")); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		thread, cwd, more string
		runs              bool
	}{
		"its folder":              {"t9", memories, `"transcript_path":null`, true},
		"a folder in it":          {"t9", memories + "/x", `"transcript_path":null`, true},
		"another folder of Codex": {"t9", filepath.Join(w.CodexHome, "sessions"), `"transcript_path":null`, false},
		"a link out of it":        {"t9", memories + "/link", `"transcript_path":null`, false},
		"a workspace":             {"t9", w.StartFolder, `"transcript_path":null`, false},
		"a thread with a file":    {"t9", memories, `"transcript_path":"/x.jsonl"`, false},
		"no word of a file":       {"t9", memories, `"cwd":""`, false},
		"a subagent":              {"t9", memories, `"transcript_path":null,"agent_id":"t9"`, false},
		"a forgotten thread":      {"t1", memories, `"transcript_path":null`, false},
	} {
		use := toolcall.Call{Name: "Bash", Input: bash(t, "ls", "").Input, Cwd: test.cwd}
		got := g.Tool(t.Context(), test.thread, "u", use, fmt.Appendf(nil, `{%s}`, test.more)).Refusal
		if (got == "") != test.runs || got != "" && !strings.Contains(got, unverified) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A thread that Codex has archived, or may have, takes no turn, even before Codex's notification.
func TestArchivedThreadTakesNoTurn(t *testing.T) {
	for _, method := range []string{"thread/archive", "thread/delete"} {
		for answer, unloads := range map[string]bool{`"result":{}`: true, `"error":{"code":-32600,"message":"no"}`: false, `"result":1,"result":2`: true} {
			t.Run(method+" "+answer, func(t *testing.T) {
				c, g, _ := converse(t, strictPolicy, guard.NoRecord)
				opens(c, "thread/start", "t1", "untrusted")
				shown := answer
				if strings.Contains(answer, `"result":1`) {
					shown = `"error":{"code":-32011,"message":"<text>"}`
				}
				c.Play("archive", `editor> {"id":"put","method":"`+method+`","params":{"threadId":"t1"}}
codex< {"id":"put","method":"`+method+`","params":{"threadId":"t1"}}
codex> {"id":"put",`+answer+`}
editor< {"id":"put",`+shown+`}
`)
				want := 1
				if unloads {
					want = 0
				}
				if got := g.Threads(); got != want {
					t.Errorf("%d threads may take turns, want %d", got, want)
				}
			})
		}
	}
}

// A thread takes no turn after the client unsubscribes, for any response of Codex. It is opened
// again only after the response, because Codex could end the notifications later otherwise.
func TestUnsubscribedThreadTakesNoTurn(t *testing.T) {
	for _, answer := range []string{`"result":{"status":"unsubscribed"}`, `"error":{"code":-32600,"message":"no"}`} {
		t.Run(answer, func(t *testing.T) {
			c, g, _ := converse(t, strictPolicy, guard.NoRecord)
			opens(c, "thread/start", "t1", "untrusted")
			c.Play("unsubscribe", `editor> {"id":"end","method":"thread/unsubscribe","params":{"threadId":"t1"}}
codex< {"id":"end","method":"thread/unsubscribe","params":{"threadId":"t1"}}
`)
			if n := g.Threads(); n != 0 {
				t.Errorf("%d threads may take turns", n)
			}
			c.EditorSends(`{"id":"turn","method":"turn/start","params":{"threadId":"t1","input":[]}}`)
			select {
			case line := <-c.CodexReceives():
				t.Errorf("Codex gets %s", line)
			case line := <-c.EditorReceives():
				t.Errorf("the editor gets %s before Codex's answer", line)
			case <-time.After(100 * time.Millisecond):
			}
			c.CodexSends(`{"id":"end",` + answer + `}`)
			both := <-c.EditorReceives() + <-c.EditorReceives() // in any order
			if !strings.Contains(both, `{"id":"end",`+answer+`}`) || !strings.Contains(both, `"code":-32013`) || !strings.Contains(both, `"id":"turn"`) {
				t.Errorf("the editor gets %s", both)
			}
			opens(c, "thread/resume", "t1", "untrusted")
			if n := g.Threads(); n != 1 {
				t.Errorf("%d threads may take turns after a resume", n)
			}
		})
	}
}

// A client can learn the id of a new thread before the response to thread/start. A request that
// ends the notifications, or the thread, reaches Codex only after that response.
func TestThreadIsNotUnsubscribedBeforeItIsOpened(t *testing.T) {
	for _, method := range []string{"thread/unsubscribe", "thread/archive"} {
		t.Run(method, func(t *testing.T) {
			c, g, _ := converse(t, strictPolicy, guard.NoRecord)
			const start = `"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"untrusted","sandbox":"read-only","approvalsReviewer":"user"}}
`
			c.Play("start", `editor> {"id":"open",`+start+`codex< {"id":"open",`+start)
			c.EditorSends(`{"id":"end","method":"` + method + `","params":{"threadId":"t1"}}`)
			select {
			case line := <-c.CodexReceives():
				t.Errorf("Codex gets %s", line)
			case <-time.After(100 * time.Millisecond):
			}
			const answer = `{"id":"open","result":{"thread":{"id":"t1"},"approvalPolicy":"untrusted",` + threadAnswer + `
`
			c.Play("answer", "codex> "+answer+"editor< "+answer+`codex< {"id":"end","method":"`+method+`","params":{"threadId":"t1"}}
codex> {"id":"end","result":{}}
editor< {"id":"end","result":{}}
`)
			if n := g.Threads(); n != 0 {
				t.Errorf("%d threads may take turns", n)
			}
		})
	}
}
