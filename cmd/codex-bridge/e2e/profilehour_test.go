//go:build linux

package e2e_test

import (
	"fmt"
	"strings"
	"testing"
)

// hourStep is a step of an ordinary hour's work.
type hourStep struct {
	Name   string `json:"name"`
	Prompt string `json:"prompt"`
	File   string `json:"file"` // that the step writes, in the world
}

var hourSteps = []hourStep{
	{"status", "RUN: git status", ""},
	{"edit", "PATCH: made.txt\none", "workspace/made.txt"},
	{"test", "RUN: sh test.sh", "workspace/tested"},
	{"commit", "ESCALATE: git add -A && git commit -qm hour", "workspace/.git/refs/heads/main"},
}

// stepResult is what becomes of a step: the number of questions, each of which is accepted, and whether
// it has its effect.
type stepResult struct {
	Asked int  `json:"asked"`
	Done  bool `json:"done"`
}

// profileHours has the results under each profile of init, as the profile's header promises them.
var profileHours = map[string]map[string]stepResult{
	"careful":   {"status": {0, true}, "edit": {1, true}, "test": {1, true}, "commit": {0, false}},
	"team":      {"status": {0, true}, "edit": {0, true}, "test": {0, true}, "commit": {1, true}},
	"read-only": {"status": {0, true}, "edit": {0, false}, "test": {1, false}, "commit": {0, false}},
	"locked":    {"status": {1, true}, "edit": {0, false}, "test": {1, false}, "commit": {0, false}},
}

// hourWorld returns a world with a profile of init, in a repository with a test.
func hourWorld(t *testing.T, profile string, o options) *world {
	t.Helper()
	o.config = "# the profile follows\n"
	w := newWorld(t, o)
	text, _, code := w.runCommand("init", "--profile", profile, "--stdout")
	if code != 0 || !strings.Contains(text, "[policy]") {
		t.Fatalf("init ends with %d: %s", code, text)
	}
	w.write("config.toml", text)
	w.write("workspace/test.sh", "touch tested\n")
	w.git("workspace", "init", "-q", "-b", "main")
	w.git("workspace", "config", "user.name", "a")
	w.git("workspace", "config", "user.email", "a@example.org")
	return w
}

// firstLine returns the first line of a prompt, which names its step.
func firstLine(prompt string) string {
	line, _, _ := strings.Cut(prompt, "\n")
	return line
}

// isDone reports whether a step has its effect.
func (s hourStep) isDone(w *world) bool {
	if s.File == "" {
		return strings.Contains(w.lastToolOutput(), "On branch main")
	}
	return w.hasFile(s.File)
}

// check compares what became of a step with what the profile promises.
func (s hourStep) check(w *world, want stepResult, asked int) {
	w.t.Helper()
	if got := (stepResult{asked, s.isDone(w)}); got != want {
		w.t.Errorf("%s: %+v, want %+v; the model got %.300q", s.Name, got, want, w.lastToolOutput())
	}
}

// With each profile, the user of a real Neovim can do what the profile promises, also in a folder that Codex does not
// trust.
func TestNeovimUnderProfile(t *testing.T) {
	t.Parallel()
	for profile, results := range profileHours {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			w := hourWorld(t, profile, options{})
			v := w.neovim("{}")
			for _, step := range hourSteps {
				v.startText(step.Prompt)
				asked := 0
				for {
					v.waitLua(fmt.Sprintf("#seen('CodexTurnCompleted') >= %d or require('codex-bridge').about().pending_requests > 0", v.started))
					if v.lua(fmt.Sprintf("return #seen('CodexTurnCompleted') >= %d", v.started)) == "true" {
						break
					}
					asked++
					v.accept()
					v.waitLua("require('codex-bridge').about().pending_requests == 0")
				}
				step.check(w, results[step.Name], asked)
			}
			v.runText("SAY: good day")
			v.checkContains(v.chatText(), "good day")
		})
	}
}

// With each profile, the user of Codex's TUI can do what the profile promises.
func TestTUIHourUnderProfile(t *testing.T) {
	t.Parallel()
	for profile, results := range profileHours {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			w := hourWorld(t, profile, options{codexConfig: terminalConfig, codex: codexPath})
			w.trustWorkspace()
			u := w.startTUI()
			u.waitThread()
			for _, step := range hourSteps {
				from, _ := u.mark()
				u.says(firstLine(step.Prompt))
				step.check(w, results[step.Name], u.questions(from))
			}
			u.says("SAY: good day")
		})
	}
}
