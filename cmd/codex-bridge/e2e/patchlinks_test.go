//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// linkedConfig allows patches in the workspace without a question.
const linkedConfig = `
[policy]
approval = ["on-request"]
sandbox = "workspace-write"
protected_paths = [".git", ".codex", ".agents", ".vscode"]

[[policy.rule]]
tool = "file"
path = "${workspace}/**"
decision = "allow"
`

// linkedPatches are patches whose path has a link: the link is in a protected folder, stands in its place, or
// leads to it. Each patch adds or deletes the file in its row.
var linkedPatches = map[string]struct {
	patchTry
	alone int // questions of Codex alone
}{
	"a link in a folder":             {patchTry{patch: "*** Delete File: ./.git/./hooks//pre-commit", file: "workspace/.git/hooks/pre-commit"}, 1},
	"a link in a folder, in a shell": {patchTry{patch: "*** Delete File: .git/hooks/pre-push", shell: "apply_patch", file: "workspace/.git/hooks/pre-push"}, 1},
	"a link outside":                 {patchTry{patch: "*** Delete File: $ROOT/homedir/.bashrc", file: "homedir/.bashrc"}, 1},
	"a deeper folder":                {patchTry{patch: "*** Add File: sub/.vscode/tasks.json\n+WORD", file: "workspace/sub/.vscode/tasks.json"}, 0},
}

// codexLinkPatch is a patch behind a link in the place of .codex, with which Codex's sandbox runs nothing.
var codexLinkPatch = patchTry{patch: "*** Add File: .codex/config.toml\n+WORD", file: "workspace/.codex/config.toml"}

// openLinked opens a thread with the links that the patches need, and with ordinary ones.
func (w *world) openLinked(argv ...string) (a *acceptingEditor, thread string) {
	w.t.Helper()
	for _, file := range []string{"conf/x", "scripts/check", "dots/bashrc", "releases/1/x", "node_modules/tool/cli.js"} {
		w.write("workspace/"+file, "one\n")
	}
	for link, to := range map[string]string{
		"workspace/sub/.vscode": "../conf", "homedir/.bashrc": "../workspace/dots/bashrc",
		"workspace/.git/hooks/pre-commit": "../../scripts/check", "workspace/.git/hooks/pre-push": "../../scripts/check",
		"workspace/current": "releases/1", "workspace/node_modules/.bin/tool": "../tool/cli.js",
	} {
		at := filepath.Join(w.root, link)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			w.t.Fatal(err)
		}
		if err := os.Symlink(to, at); err != nil {
			w.t.Fatal(err)
		}
	}
	a = w.newAcceptingEditor(argv...)
	return a, a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
}

// applyLinked makes the model apply a patch. It reports whether that has added or deleted the file.
func (a *acceptingEditor) applyLinked(thread string, p patchTry) (changed bool, reasons []string) {
	a.t.Helper()
	_, before := os.Lstat(filepath.Join(a.root, p.file))
	a.applyPatch(thread, p)
	_, after := os.Lstat(filepath.Join(a.root, p.file))
	a.mu.Lock()
	defer a.mu.Unlock()
	return (before == nil) != (after == nil), a.reasons
}

// A patch is judged by each link on its way: an allow rule for the workspace allows none of these, under
// escalation = "ask" each question says that it leaves the sandbox, and Codex alone applies all. Ordinary links
// in the workspace cost no question.
func TestPatchesThroughLinks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config  string
		argv    []string
		applied bool
	}{
		"deny":  {linkedConfig, proxyArgv, false},
		"ask":   {strings.Replace(linkedConfig, "sandbox", "escalation = \"ask\"\nsandbox", 1), proxyArgv, true},
		"alone": {"", []string{codexPath, "app-server"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, thread := newWorld(t, options{config: test.config}).openLinked(test.argv...)
			for what, p := range linkedPatches {
				asked := map[string]int{"deny": 0, "ask": 1, "alone": p.alone}[name]
				changed, reasons := a.applyLinked(thread, p.patchTry)
				if changed != test.applied || len(reasons) != asked || name == "ask" && !strings.HasPrefix(reasons[0], "[codex-bridge: leaves the sandbox] ") {
					t.Errorf("%s: changed %t, questions %q; the model got %q", what, changed, reasons, a.world.lastToolOutput())
				}
			}
			for link, target := range map[string]string{"current/x": "releases/1/x", "node_modules/.bin/tool": "node_modules/tool/cli.js"} {
				p := patchTry{patch: "*** Update File: " + link + "\n@@\n-one\n+WORD", file: "workspace/" + target}
				if written, asked := a.applyPatch(thread, p); !written || asked != 0 {
					t.Errorf("%s: written %t, %d questions; the model got %q", link, written, asked, a.world.lastToolOutput())
				}
			}
			a.closeAndWait()
			if name == "ask" {
				return
			}
			w := newWorld(t, options{config: test.config})
			w.write("workspace/conf/x", "")
			if err := os.Symlink("conf", filepath.Join(w.workspace, ".codex")); err != nil {
				t.Fatal(err)
			}
			a = w.newAcceptingEditor(test.argv...)
			thread = a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			if changed, reasons := a.applyLinked(thread, codexLinkPatch); changed != test.applied || test.applied != (len(reasons) == 1) {
				t.Errorf(".codex: changed %t, questions %q; the model got %q", changed, reasons, w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}
