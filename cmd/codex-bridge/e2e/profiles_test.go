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

// With each profile, the user of each recorded client can do what the profile promises.
func TestHourUnderProfile(t *testing.T) {
	t.Parallel()
	for i, profile := range slices.Sorted(maps.Keys(profileHours)) {
		for j, name := range slices.Sorted(maps.Keys(hourClients)) {
			client := hourClients[name]
			if !isSampled(5, i, j) {
				continue
			}
			t.Run(profile+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := hourWorld(t, profile, options{mute: "the messages are sent as they were recorded"})
				steps := slices.Clone(hourSteps)
				turns := 0
				refused := w.replay(client, func(text string, asked int) {
					turns++
					i := slices.IndexFunc(steps, func(s hourStep) bool { return firstLine(s.Prompt) == firstLine(text) })
					if i < 0 {
						return
					}
					want := profileHours[profile][steps[i].Name]
					if client.errs && want.Asked > 0 {
						want.Done = false
					}
					steps[i].check(w, want, asked)
					steps = slices.Delete(steps, i, i+1)
				})
				if len(steps) > 0 || turns < 5 {
					t.Errorf("%d turns; missing: %v", turns, steps)
				}
				if len(refused) != client.refused[profile] {
					t.Errorf("refused: %q", refused)
				}
			})
		}
	}
}

// acpPrompt is what a user of codex-acp sees of a prompt.
type acpPrompt struct {
	Prompt, Text string
	Asked        []json.RawMessage
}

// With each profile, the user of the real codex-acp can do what the profile promises.
func TestACPUnderProfile(t *testing.T) {
	t.Parallel()
	for profile, results := range profileHours {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			w := hourWorld(t, profile, options{})
			var prompts []string
			for _, step := range hourSteps {
				prompts = append(prompts, step.Prompt)
			}
			done := make(map[string]acpPrompt)
			for _, line := range w.acp(proxyPath, "agent", "allow_once", append(prompts, "SAY: good day")...) {
				var p acpPrompt
				if json.Unmarshal([]byte(line), &p) == nil {
					done[p.Prompt] = p
				}
			}
			for _, step := range hourSteps {
				p, want := done[step.Prompt], results[step.Name]
				wrote := step.File == "" && strings.Contains(p.Text, "On branch main") || step.File != "" && w.hasFile(step.File)
				if wrote != want.Done || len(p.Asked) != want.Asked {
					t.Errorf("%s: done %v after %d questions, want %+v; the user reads %q", step.Name, wrote, len(p.Asked), want, p.Text)
				}
			}
			if text := done["SAY: good day"].Text; text != "good day" {
				t.Errorf("at the end the user reads %q", text)
			}
		})
	}
}

// Under careful, the user is asked before each command and patch. An accepted one has its effect, inside the
// workspace only; a declined one has none. Under read-only, nothing is written.
func TestCarefulLetsUserWork(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{"careful", "read-only"} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			w := hourWorld(t, profile, options{})
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
	w := hourWorld(t, "careful", options{})
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
