//go:build linux

package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"

	"codex-bridge/cmd/internal/editor"
)

// client is what one client sends besides its prompts.
type client struct {
	first []request      // before the thread
	start map[string]any // of thread/start
	turn  map[string]any // of each turn/start
	// later are the requests after the first turn: a choice of the model, and text from elsewhere.
	later []request
}

// hourClients are the clients whose messages the tests of the profiles send.
var hourClients = map[string]client{
	"codex.nvim": {
		first: []request{{"account/read", `{"refreshToken":false}`}, {"model/list", `{}`}},
		start: map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"},
		later: []request{{"thread/name/set", `{"threadId":"$THREAD","name":"an hour"}`}},
	},
	"claude code plugin": {
		start: map[string]any{"approvalPolicy": "never", "sandbox": "workspace-write", "ephemeral": false, "experimentalRawEvents": false},
		turn:  map[string]any{"approvalPolicy": "never", "effort": "low"},
		later: []request{{"thread/resume", `{"threadId":"$THREAD","approvalPolicy":"never","sandbox":"read-only"}`}},
	},
	"openclaw": {
		first: []request{{"model/list", `{"limit":100,"includeHidden":false}`}},
		start: map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write", "approvalsReviewer": "user", "serviceName": "openclaw", "persistExtendedHistory": true},
		later: []request{{"thread/inject_items", `{"threadId":"$THREAD","items":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"handed over"}]}]}`}},
	},
	"codex's TUI": {
		first: []request{{"account/read", `{"refreshToken":false}`}, {"config/read", `{"includeLayers":false,"cwd":"$CWD"}`}, {"skills/list", `{"cwds":["$CWD"],"forceReload":false}`}, {"model/list", `{"includeHidden":true}`}},
		start: map[string]any{"approvalPolicy": "on-request", "approvalsReviewer": "user", "sandbox": "workspace-write", "historyMode": "legacy", "sessionStartSource": "startup"},
		later: []request{
			{"config/batchWrite", `{"edits":[{"keyPath":"model","value":"gpt-5.5","mergeStrategy":"replace"},{"keyPath":"model_reasoning_effort","value":"low","mergeStrategy":"replace"}],"filePath":null,"expectedVersion":null,"reloadUserConfig":true}`},
			{"thread/settings/update", `{"threadId":"$THREAD","model":"gpt-5.5","effort":"low"}`},
			{"thread/settings/update", `{"threadId":"$THREAD","approvalPolicy":"untrusted"}`},
			{"thread/settings/update", `{"threadId":"$THREAD","approvalPolicy":"$APPROVAL"}`},
		},
	},
}

// With each profile of init, each client's user can do the work that the profile's header promises,
// with the questions that it names: read, edit, test, commit, review, resume.
func TestHourUnderProfile(t *testing.T) {
	t.Parallel()
	type step struct {
		asked int
		done  bool
	}
	for profile, want := range map[string]struct {
		approval                   string // of the threads
		status, edit, test, commit step
	}{
		"careful": {"untrusted", step{0, true}, step{0, false}, step{1, false}, step{0, false}},
		"team":    {"on-request", step{0, true}, step{0, true}, step{0, true}, step{1, true}},
		"locked":  {"untrusted", step{1, true}, step{0, false}, step{1, false}, step{0, false}},
	} {
		for name, one := range hourClients {
			t.Run(profile+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{config: "# the profile follows\n"})
				text, _, code := w.runCommand("init", "--profile", profile, "--stdout")
				if code != 0 || !strings.Contains(text, "[policy]") {
					t.Fatalf("init ends with %d: %s", code, text)
				}
				w.write("config.toml", text)
				w.write("workspace/test.sh", "touch tested\n")
				w.git("workspace", "init", "-q", "-b", "main")
				a := w.newAcceptingEditor(proxyArgv...)
				thread := ""
				send := func(r request) {
					t.Helper()
					params := strings.NewReplacer("$CWD", w.workspace, "$THREAD", thread, "$APPROVAL", want.approval).Replace(r.params)
					if _, err := a.Call(a.ctx, r.method, json.RawMessage(params)); err != nil {
						t.Errorf("%s: %v", r.method, err)
					}
				}
				for _, r := range one.first {
					send(r)
				}
				thread = a.thread(one.start)
				turn := func(what, text, file string, want step) {
					t.Helper()
					asked := a.turnWith(thread, text, one.turn)
					if done := file == "" || w.hasFile(file); done != want.done || len(asked) != want.asked {
						t.Errorf("%s: done %v after the questions %q, want %+v; the model got %.300q", what, done, asked, want, w.lastToolOutput())
					}
				}
				turn("read", "RUN: git status", "", want.status)
				turn("edit", "PATCH: made.txt\none", "workspace/made.txt", want.edit)
				for _, r := range one.later {
					send(r)
				}
				turn("test", "RUN: sh test.sh", "workspace/tested", want.test)
				turn("commit", "ESCALATE: git add -A && git -c user.name=a -c user.email=a@example.org commit -qm hour", "workspace/.git/refs/heads/main", want.commit)
				mark := a.Mark()
				result, err := a.Call(a.ctx, "review/start", map[string]any{"threadId": thread, "delivery": "inline", "target": map[string]any{"type": "uncommittedChanges"}})
				if err != nil {
					t.Errorf("review: %v", err)
				} else {
					a.waitTurn(thread, editor.Member(result, "turn", "id"), mark)
				}
				a.closeAndWait()
				b := w.newAcceptingEditor(proxyArgv...)
				b.must("thread/resume", map[string]any{"threadId": thread})
				b.turnWith(thread, "SAY: hi", one.turn)
				b.closeAndWait()
			})
		}
	}
}

// The same with the real codex-acp, whose user accepts every question.
func TestACPUnderProfile(t *testing.T) {
	t.Parallel()
	for profile, writes := range map[string]bool{"careful": false, "team": true, "locked": false} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "# the profile follows\n"})
			text, _, _ := w.runCommand("init", "--profile", profile, "--stdout")
			w.write("config.toml", text)
			w.git("workspace", "init", "-q", "-b", "main")
			lines := w.acp(proxyPath, "agent", "allow_once", "RUN: git status", "PATCH: made.txt\none",
				"ESCALATE: git add -A && git -c user.name=a -c user.email=a@example.org commit -qm hour", "good day")
			if !strings.Contains(lines[len(lines)-2]+lines[len(lines)-1], "good day") {
				t.Errorf("the session did not go on:\n%s", strings.Join(lines, "\n"))
			}
			for _, file := range []string{"made.txt", ".git/refs/heads/main"} {
				if w.workspaceHasFile(file) != writes {
					t.Errorf("%s was written: %v\n%s", file, !writes, strings.Join(lines, "\n"))
				}
			}
		})
	}
}

// Under careful, a search asks if its options run a program or write a file.
func TestCarefulAsksAboutOptionsThatDoMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "# the profile follows\n"})
	text, _, _ := w.runCommand("init", "--profile", "careful", "--stdout")
	w.write("config.toml", strings.Replace(text, `sandbox = "read-only"`, `sandbox = "workspace-write"`, 1))
	w.git("workspace", "init", "-q", "-b", "main")
	w.write("workspace/text", "hello\n")
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"sandbox": "workspace-write"})
	for line, want := range map[string]int{
		"rg --pretty hello text": 0, "git diff": 0,
		"rg --pre ./run.sh hello text": 1, "rg --pre=./run.sh hello text": 1, "rg --hostname-bin ./run.sh hello text": 1,
		"git diff --output=made": 1, "git log '--output' made": 1,
	} {
		if asked := a.turnWith(thread, "RUN: "+line, nil); len(asked) != want {
			t.Errorf("%s: the questions %q, want %d", line, asked, want)
		}
	}
	a.closeAndWait()
}
