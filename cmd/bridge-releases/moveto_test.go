//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/methods"
)

// A new pin does not touch the installed packages, so that `make setup` installs the new ones.
func TestPin(t *testing.T) {
	h := newHosted(t)
	h.write("bin/npm", `#!/bin/sh
mkdir -p node_modules && touch node_modules/.package-lock.json
sed -i.old 's/1.0.0/1.2.3/' package-lock.json
`)
	if err := os.Chmod(h.path("bin/npm"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.write("clone/testdata/npm/package.json", `{"dependencies": {"@openai/codex": "1.0.0"}, "overrides": {"@openai/codex": "$@openai/codex"}}`)
	h.write("clone/testdata/npm/package-lock.json", `{"packages": {"node_modules/@openai/codex": {"version": "1.0.0"}}}`)
	h.commit("pin")
	if err := pin(t.Context(), h.path("clone"), "1.2.3"); err != nil {
		t.Fatal(err)
	}
	const want = "testdata/npm/package-lock.json\ntestdata/npm/package.json"
	if got := h.git(h.path("clone"), "ls-files", "--modified", "--others"); got != want {
		t.Errorf("changed: %s", got)
	}
	if got := h.git(h.path("clone"), "grep", "-c", "1.2.3"); got != "testdata/npm/package-lock.json:1\ntestdata/npm/package.json:1" {
		t.Errorf("changed: %s", got)
	}
}

// Without a newer release nothing happens. A first step that fails leaves the repository as it is, and other changes
// are not mixed with a move.
func TestMoveChangesNothing(t *testing.T) {
	h := newHosted(t)
	h.write("bin/npm", "#!/bin/sh\nif [ \"$1\" = view ]; then cat '"+h.path("versions")+"'; else echo no network >&2; exit 1; fi\n")
	if err := os.Chmod(h.path("bin/npm"), 0o700); err != nil {
		t.Fatal(err)
	}
	summary := h.path("summary.md")
	run := func(versions, wanted string) string {
		t.Helper()
		h.write("versions", versions)
		err := moveTo(t.Context(), h.path("clone"), wanted, summary)
		if _, statErr := os.Stat(summary); statErr == nil {
			t.Error("there is a summary")
		}
		if left, globErr := filepath.Glob(h.path("clone/.tools/*")); globErr != nil || len(left) > 0 {
			t.Errorf("left behind: %q, %v", left, globErr)
		}
		if err == nil {
			return ""
		}
		return err.Error()
	}
	known := `["0.1.0", "` + methods.Measured + `", "99.0.0-alpha.1"`
	for _, c := range []struct{ versions, wanted, fails string }{
		{known + "]", "", ""},
		{known + "]", methods.Measured, "no stable release"},
		{known + `, "99.0.0"]`, "", "the step \"install\" failed, and nothing is changed: npm install: exit status 1\nno network"},
		{"<html>", "", "npm view: "},
	} {
		if got := run(c.versions, c.wanted); !strings.Contains(got, c.fails) || got != "" && c.fails == "" {
			t.Errorf("%s, wanted %q: %q, want %q", c.versions, c.wanted, got, c.fails)
		}
	}
	if out := h.git(h.path("clone"), "status", "--porcelain", "--untracked-files=no"); out != "" {
		t.Errorf("changed: %s", out)
	}
	h.write("clone/"+table1, "mine\n")
	if got := run(known+`, "99.0.0"]`, ""); !strings.Contains(got, "commit these changes first") || !strings.Contains(got, table1) {
		t.Errorf("with other changes: %q", got)
	}
}
