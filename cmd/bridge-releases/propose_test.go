//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hosted is a repository on a server, a clone of it, and a gh that logs its calls.
type hosted struct {
	t      *testing.T
	folder string
}

func newHosted(t *testing.T) *hosted {
	t.Helper()
	h := &hosted{t, t.TempDir()}
	t.Setenv("PATH", h.path("bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("GIT_CONFIG_GLOBAL", h.path("gitconfig"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	h.write("gitconfig", "[user]\nname = A Person\nemail = person@codex-bridge.example\n")
	h.write("bin/gh", "#!/bin/sh\necho \"$*\" >>'"+h.path("calls")+"'\n[ \"$2\" != list ] || cat '"+h.path("list")+"'\n")
	if err := os.Chmod(h.path("bin/gh"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.write("list", "[]")
	h.git(h.folder, "init", "--quiet", "--bare", "--initial-branch=main", "server")
	h.git(h.folder, "clone", "--quiet", "server", "clone")
	h.write("clone/bridge/methods/methods.txt", "codex 0.1.0\na\n")
	h.write("clone/main.go", "package main\n")
	h.commit("begin")
	h.git(h.path("clone"), "push", "--quiet", "origin", "HEAD:main")
	return h
}

func (h *hosted) path(name string) string { return filepath.Join(h.folder, name) }

func (h *hosted) write(name, text string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(h.path(name)), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(h.path(name), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *hosted) git(folder string, args ...string) string {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), "git", args...)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (h *hosted) commit(message string) {
	h.t.Helper()
	h.git(h.path("clone"), "add", "--all")
	h.git(h.path("clone"), "commit", "--quiet", "-m", message)
}

// propose makes a proposal with the text of a file, on a new clone as of a workflow.
func (h *hosted) propose(name, text string) error {
	h.t.Helper()
	for _, folder := range []string{"clone", "proposal", "calls"} {
		if err := os.RemoveAll(h.path(folder)); err != nil {
			h.t.Fatal(err)
		}
	}
	h.git(h.folder, "clone", "--quiet", "server", "clone")
	h.write("clone/"+name, text)
	h.write("proposal/changes.patch", h.git(h.path("clone"), "diff", "--binary", "HEAD")+"\n")
	h.write("proposal/summary.md", "a summary\n")
	h.git(h.path("clone"), "restore", ".")
	return propose(h.t.Context(), h.path("clone"), h.path("proposal"))
}

// head returns the text of the table on a branch of the server.
func (h *hosted) head(branch string) string {
	h.t.Helper()
	return h.git(h.path("server"), "show", branch+":bridge/methods/methods.txt")
}

// called checks the calls of gh other than list.
func (h *hosted) called(want ...string) {
	h.t.Helper()
	text, err := os.ReadFile(h.path("calls"))
	if err != nil && !os.IsNotExist(err) {
		h.t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "pr list") {
			got = append(got, strings.TrimSpace(strings.ReplaceAll(line, h.folder, "")))
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		h.t.Errorf("gh was called with %q, want %q", got, want)
	}
}

const table1 = "bridge/methods/methods.txt"

func TestPropose(t *testing.T) {
	h := newHosted(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const create = "pr create --title methods: know Codex 0.3.0 --body-file /proposal/summary.md --head codex-0.3.0 --base main"

	// A pull request of a fork has a branch of the same name.
	h.write("list", `[{"number": 4, "state": "OPEN", "headRefName": "codex-0.3.0", "isCrossRepository": true}]`)
	must(h.propose(table1, "codex 0.3.0\nb\n"))
	h.called(create)
	if got := h.head("codex-0.3.0"); got != "codex 0.3.0\nb" {
		t.Errorf("the branch has %q", got)
	}
	if got := h.git(h.path("server"), "log", "--format=%an %ae %s", "main..codex-0.3.0"); got != botName+" "+botEmail+" methods: know Codex 0.3.0" {
		t.Errorf("the branch has %q", got)
	}

	// The same changes again: nothing to do. Others replace them.
	h.write("list", `[{"number": 5, "state": "OPEN", "headRefName": "codex-0.3.0"}]`)
	must(h.propose(table1, "codex 0.3.0\nb\n"))
	h.called()
	must(h.propose(table1, "codex 0.3.0\nc\n"))
	h.called("pr edit 5 --title methods: know Codex 0.3.0 --body-file /proposal/summary.md")
	if got := h.head("codex-0.3.0"); got != "codex 0.3.0\nc" {
		t.Errorf("the branch has %q", got)
	}

	// A newer release closes the older pull request.
	must(h.propose(table1, "codex 0.4.0\nd\n"))
	h.called(strings.ReplaceAll(create, "0.3.0", "0.4.0"), "pr close 5 --comment The pull request of Codex 0.4.0 has these changes, too.")

	// A branch with a commit of a person stays, and so does its pull request.
	h.git(h.path("clone"), "checkout", "--quiet", "-B", "mine", "origin/codex-0.3.0")
	h.write("clone/"+table1, "codex 0.3.0\njudged\n")
	h.commit("judge")
	h.git(h.path("clone"), "push", "--quiet", "origin", "HEAD:codex-0.3.0")
	must(h.propose(table1, "codex 0.3.0\ne\n"))
	h.called()
	if got := h.head("codex-0.3.0"); got != "codex 0.3.0\njudged" {
		t.Errorf("the branch of a person has %q", got)
	}
	must(h.propose(table1, "codex 0.5.0\nf\n"))
	h.called(strings.ReplaceAll(create, "0.3.0", "0.5.0"))

	// A closed pull request is an answer.
	h.write("list", `[{"number": 6, "state": "CLOSED", "headRefName": "codex-0.5.0"}]`)
	must(h.propose(table1, "codex 0.5.0\ng\n"))
	h.called()
	if got := h.head("codex-0.5.0"); got != "codex 0.5.0\nf" {
		t.Errorf("the branch of a closed pull request has %q", got)
	}

	// The patch can't change code or name a branch.
	for name, text := range map[string]string{"main.go": "package evil\n", table1: "codex 0.6.0;evil\n"} {
		if err := h.propose(name, text); err == nil {
			t.Errorf("a change of %s to %q is proposed", name, text)
		}
		h.called()
	}
}
