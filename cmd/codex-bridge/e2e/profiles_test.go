//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// hourClient is a client whose messages during an hour of work are recorded under the profile team,
// in testdata/clients/recorded. The recordings have no responses. A long text is replaced by its
// length, a list of tools has its first two, and the model's provider is the scripted one.
type hourClient struct {
	recording string
	errs      bool // it answers questions with an error
	// refused has the number of requests that get an error under each profile, from the bridge or from
	// Codex. The client shows it to its user and goes on.
	refused map[string]int
}

var hourClients = map[string]hourClient{
	"codex.nvim":       {recording: "codex.nvim-0.1.0", refused: map[string]int{"careful": 2, "team": 2, "read-only": 2, "locked": 2}}, // full access; Codex has no rate limits
	"codex-plugin-cc":  {recording: "codex-plugin-cc-1.0.5", errs: true},
	"openclaw":         {recording: "openclaw-2026.9.6"},
	"happy":            {recording: "happy-1.2.5"},
	"ai-sdk-provider":  {recording: "ai-sdk-provider-codex-cli-2.2.1"},
	"the TUI of Codex": {recording: "codex-tui-0.169.0", refused: map[string]int{"careful": 4, "team": 3, "read-only": 4, "locked": 4}}, // permissions; Codex has no turns before the first
}

// clientMessage is a recorded message of a client. In it, $CWD is the workspace, and $THREAD(2-7) the thread that
// opened with request 7 on the second connection.
type clientMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// replay sends the recorded messages of a client one after the other. Each initialize starts a new
// bridge. It waits for the end of each turn, and calls ended with its text and the number of its
// questions. It returns the errors.
func (w *world) replay(c hourClient, ended func(text string, asked int)) (refused []string) {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(clients, "recorded", c.recording+".jsonl"))
	if err != nil {
		w.t.Fatal(err)
	}
	var a *acceptingEditor
	names := []string{"$CWD", w.workspace}
	connection := 0
	for line := range strings.Lines(string(text)) {
		var m clientMessage
		if err := json.Unmarshal([]byte(strings.NewReplacer(names...).Replace(line)), &m); err != nil {
			w.t.Fatalf("%s: %v", line, err)
		}
		if m.Method == "initialize" {
			if a != nil {
				a.closeAndWait()
			}
			a = w.newUninitializedEditor(c.errs)
			connection++
		}
		if m.ID == nil {
			if err := a.Notify(m.Method, m.Params); err != nil {
				w.t.Fatal(err)
			}
			continue
		}
		asked, mark := a.questions(), a.Mark()
		result, failed := a.CallID(a.ctx, m.ID, m.Method, m.Params)
		switch {
		case failed != nil && failed.Code == 0:
			w.t.Fatal(failed)
		case failed != nil:
			refused = append(refused, failed.Message)
		}
		thread := editor.Member(m.Params, "threadId")
		switch id := strings.Trim(string(m.ID), `"`); m.Method {
		case "thread/start", "thread/fork":
			names = append(names, fmt.Sprintf("$THREAD(%d-%s)", connection, id), editor.Member(result, "thread", "id"))
		case "thread/compact/start":
			a.waitFor(mark, "turn/completed", func(m editor.Message) bool { return m.Param("threadId") == thread })
		case "turn/start", "review/start":
			turn := editor.Member(result, "turn", "id")
			if turn == "" {
				w.t.Errorf("%s: %v", m.Method, failed)
				continue
			}
			a.waitTurn(thread, turn, mark)
			ended(promptOf(m.Params), a.questions()-asked)
		}
	}
	a.closeAndWait()
	return refused
}

// promptOf returns the first text of a turn/start.
func promptOf(params json.RawMessage) string {
	var p struct{ Input []struct{ Text string } }
	if json.Unmarshal(params, &p) != nil || len(p.Input) == 0 {
		return ""
	}
	return p.Input[0].Text
}

// With each profile of init, each client's user can do the work that the profile's header promises,
// with the questions that it names: read, edit, test, commit, review, change the model, resume.
func TestHourUnderProfile(t *testing.T) {
	t.Parallel()
	type step struct {
		asked int
		done  bool
	}
	profiles := map[string]struct{ status, edit, test, commit step }{
		"careful":   {step{0, true}, step{1, true}, step{1, true}, step{0, false}},
		"team":      {step{0, true}, step{0, true}, step{0, true}, step{1, true}},
		"read-only": {step{0, true}, step{0, false}, step{1, false}, step{0, false}},
		"locked":    {step{1, true}, step{0, false}, step{1, false}, step{0, false}},
	}
	for i, profile := range slices.Sorted(maps.Keys(profiles)) {
		want := profiles[profile]
		for j, name := range slices.Sorted(maps.Keys(hourClients)) {
			one := hourClients[name]
			if !isSampled(5, i, j) {
				continue
			}
			t.Run(profile+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{config: "# the profile follows\n", mute: "the messages are sent as they were recorded"})
				text, _, code := w.runCommand("init", "--profile", profile, "--stdout")
				if code != 0 || !strings.Contains(text, "[policy]") {
					t.Fatalf("init ends with %d: %s", code, text)
				}
				w.write("config.toml", text)
				w.write("workspace/test.sh", "touch tested\n")
				w.git("workspace", "init", "-q", "-b", "main")
				w.git("workspace", "config", "user.name", "a")
				w.git("workspace", "config", "user.email", "a@example.org")
				steps := map[string]struct {
					file string
					want step
				}{
					"RUN: git status": {"", want.status},
					"PATCH: made.txt": {"workspace/made.txt", want.edit},
					"RUN: sh test.sh": {"workspace/tested", want.test},
					"ESCALATE: git add -A && git commit -qm hour": {"workspace/.git/refs/heads/main", want.commit},
				}
				turns := 0
				refused := w.replay(one, func(text string, asked int) {
					turns++
					text, _, _ = strings.Cut(text, "\n")
					s, ok := steps[text]
					if !ok {
						return
					}
					delete(steps, text)
					if one.errs && s.want.asked > 0 {
						s.want.done = false
					}
					done := s.file != "" && w.hasFile(s.file) || s.file == "" && strings.Contains(w.lastToolOutput(), "On branch main")
					if done != s.want.done || asked != s.want.asked {
						t.Errorf("%s: done %v after %d questions, want %+v; the model got %.300q", text, done, asked, s.want, w.lastToolOutput())
					}
				})
				if len(steps) > 0 || turns < 5 {
					t.Errorf("%d turns; missing: %v", turns, slices.Collect(maps.Keys(steps)))
				}
				if len(refused) != one.refused[profile] {
					t.Errorf("refused: %q", refused)
				}
			})
		}
	}
}

// The same with the real codex-acp, whose user accepts every question.
func TestACPUnderProfile(t *testing.T) {
	t.Parallel()
	for profile, does := range map[string]struct{ edits, commits bool }{
		"careful": {true, false}, "team": {true, true}, "read-only": {}, "locked": {},
	} {
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
			for file, want := range map[string]bool{"made.txt": does.edits, ".git/refs/heads/main": does.commits} {
				if w.workspaceHasFile(file) != want {
					t.Errorf("%s was written: %v\n%s", file, !want, strings.Join(lines, "\n"))
				}
			}
		})
	}
}

// profileWorld returns a world with a profile of init, in a repository.
func profileWorld(t *testing.T, profile string) *world {
	t.Helper()
	w := newWorld(t, options{config: "# the profile follows\n"})
	text, _, code := w.runCommand("init", "--profile", profile, "--stdout")
	if code != 0 {
		t.Fatalf("init ends with %d: %s", code, text)
	}
	w.write("config.toml", text)
	w.git("workspace", "init", "-q", "-b", "main")
	return w
}

// Under careful, the user is asked before each command and patch. An accepted one has its effect, inside the
// workspace only; a declined one has none. Under read-only, nothing is written.
func TestCarefulLetsUserWork(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{"careful", "read-only"} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			w := profileWorld(t, profile)
			c := w.open(proxyArgv...)
			c.initialize(nil)
			thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			works := profile == "careful"
			outside := filepath.Join(w.root, "outside")
			for text, one := range map[string]struct {
				question, answer string // no question: none is asked
				file             string
				written          bool
			}{
				"PATCH: yes.txt\none":              {fileApproval, "accept", "workspace/yes.txt", works},
				"PATCH: no.txt\none":               {fileApproval, "decline", "workspace/no.txt", false},
				"RUN: touch yes":                   {commandApproval, "accept", "workspace/yes", works},
				"RUN: touch no":                    {commandApproval, "decline", "workspace/no", false},
				"RUN: touch " + outside:            {commandApproval, "accept", "outside", false},
				"ESCALATE: touch " + outside + "2": {"", "", "outside2", false},
				"PATCH: " + outside + "3\none":     {"", "", "outside3", false},
				"RUN: git status":                  {"", "", "outside", false},
			} {
				if one.question == fileApproval && !works {
					one.question = "" // denied at once
				}
				turn, mark := c.startTurn(thread, text)
				if one.question != "" {
					if err := c.Reply(c.waitFor(mark, one.question, nil), decision(one.answer)); err != nil {
						t.Fatal(err)
					}
				}
				c.waitTurn(thread, turn, mark) // ends with an error if there is a question more
				if w.hasFile(one.file) != one.written {
					t.Errorf("%s: the file is written: %v; the model got %.300q", text, !one.written, w.lastToolOutput())
				}
			}
			c.closeAndWait()
		})
	}
}

// Under careful, a search asks if its options run a program or write a file, and a redirection asks.
func TestCarefulAsksAboutOptionsThatDoMore(t *testing.T) {
	t.Parallel()
	w := profileWorld(t, "careful")
	w.write("workspace/text", "hello\n")
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"sandbox": "workspace-write"})
	for line, want := range map[string]int{
		"rg --pretty hello text": 0, "git diff": 0,
		"rg --pre ./run.sh hello text": 1, "rg --pre=./run.sh hello text": 1, "rg --hostname-bin ./run.sh hello text": 1,
		"git diff --output=made": 1, "git log '--output' made": 1, "grep hello text >made": 1,
	} {
		if asked := a.turnWith(thread, "RUN: "+line, nil); len(asked) != want {
			t.Errorf("%s: the questions %q, want %d", line, asked, want)
		}
	}
	a.closeAndWait()
}
