//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
)

// After thread/unsubscribe Codex changes a thread's settings without a notification, and opens the
// thread in another folder. The bridge refuses turns until the thread is resumed, and resumes it
// with its earlier protection.
func TestUnsubscribedThread(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{"codex alone": {codexPath, "app-server"}, "bridge": proxyArgv} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bridge := name == "bridge"
			w := newWorld(t, options{config: "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\n", mute: "many"})
			w.repositoryIn("governed")
			governed := filepath.Join(w.root, "governed")
			w.write("governed/.codex-bridge.toml", "[[policy.rule]]\ncommand = \"touch **\"\ndecision = \"deny\"\n")
			a := w.newAcceptingEditor(argv...)
			thread := a.thread(map[string]any{"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "workspace-write"})
			a.turn(thread, "SAY: hello")
			a.must("thread/unsubscribe", map[string]any{"threadId": thread})
			mark := a.Mark()
			change := map[string]any{"threadId": thread, "sandboxPolicy": map[string]any{"type": "readOnly"}}
			if _, err := a.Call(a.ctx, "thread/settings/update", change); (err != nil) != bridge || bridge && err.Code != -32013 {
				t.Errorf("a change of settings: %v", err)
			}
			a.must("model/list", map[string]any{})
			time.Sleep(200 * time.Millisecond) // for a late notification
			for _, m := range a.Messages()[mark:] {
				if m.Method == "thread/settings/updated" {
					t.Error("Codex notified an unsubscribed client: " + string(m.Raw))
				}
			}
			if bridge {
				if err := a.mustFail("turn/start", input(thread, "SAY: hello")); err.Code != -32013 {
					t.Error(err)
				}
			}
			answer, err := a.Call(a.ctx, "thread/resume", map[string]any{"threadId": thread, "cwd": governed, "sandbox": "workspace-write"})
			switch {
			case !bridge && (err != nil || editor.Member(answer, "cwd") != governed):
				t.Errorf("Codex does not open the thread in another folder: %v %s", err, answer)
			case bridge && (err == nil || err.Code != -32013 || !strings.Contains(err.Message, "unknown or protects too little")):
				t.Errorf("the thread resumed in a folder with a policy file: %v", err)
			}
			if bridge {
				a.must("thread/resume", map[string]any{"threadId": thread, "cwd": w.workspace})
			}
			a.turn(thread, "RUN: rm .codex-bridge.toml; touch made")
			if _, err := os.Stat(filepath.Join(governed, ".codex-bridge.toml")); (err == nil) != bridge || w.hasFile("workspace/made") != bridge {
				t.Errorf("policy file: %v; command ran in the workspace: %v", err, w.hasFile("workspace/made"))
			}
			a.closeAndWait()
		})
	}
}

// An unsubscribed thread with the bridge's profile resumes with it.
func TestUnsubscribedThreadKeepsItsProfile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nprotected_paths = [\".github\"]\n", mute: "many"})
	w.write("workspace/.github/x", "old")
	w.write("workspace/write.sh", "touch made; echo new > .github/x")
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	a.turn(thread, "RUN: touch before")
	for range 2 {
		a.must("thread/unsubscribe", map[string]any{"threadId": thread})
		a.must("thread/resume", map[string]any{"threadId": thread})
		a.turn(thread, "RUN: sh write.sh")
	}
	if text, _ := os.ReadFile(filepath.Join(w.workspace, ".github", "x")); string(text) != "old" || !w.hasFile("workspace/made") {
		t.Errorf("content %q, other files writable: %v; %s", text, w.hasFile("workspace/made"), w.lastToolOutput())
	}
	a.closeAndWait()
}

// Codex keeps the profile of a loaded thread. Such a thread does not open again under a policy that
// protects more, verified before or not, and continues unchanged.
func TestLoadedThreadIsNotReopenedWithLessProtection(t *testing.T) {
	t.Parallel()
	base := "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\n"
	for name, forget := range map[string]bool{"verified": false, "not verified": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: base + "protected_paths = [\".github\"]\n", mute: "the configuration changes"})
			w.write("workspace/secrets/key", "old")
			w.write("workspace/write.sh", "touch made; echo new > secrets/key")
			a := w.newAcceptingEditor(proxyArgv...)
			open := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
			thread := a.thread(open)
			a.turn(thread, "RUN: true")
			w.write("config.toml", base+"protected_paths = [\".github\", \"secrets\"]\n"+withLongGrace(base))
			if _, err := a.WaitStderr(a.ctx, func(text string) bool { return strings.Contains(text, "still checked against the policies") }); err != nil {
				t.Fatal(err)
			}
			if forget {
				a.must("thread/unsubscribe", map[string]any{"threadId": thread})
			}
			if err := a.mustFail("thread/resume", map[string]any{"threadId": thread}); err.Code != -32013 || !strings.Contains(err.Message, "unknown or protects too little") {
				t.Error(err)
			}
			if !forget {
				a.turn(thread, "RUN: echo new > secrets/key")
			}
			fresh := a.thread(open)
			a.turn(fresh, "RUN: sh write.sh")
			if text, _ := os.ReadFile(filepath.Join(w.workspace, "secrets", "key")); string(text) != "old" || !w.hasFile("workspace/made") {
				t.Errorf("content %q, other files writable: %v; %s", text, w.hasFile("workspace/made"), w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}

// A loaded thread resumes in any variant of the profile in which it runs.
func TestLoadedThreadIsReopenedInItsVariant(t *testing.T) {
	t.Parallel()
	named := map[string]any{"sandbox": "workspace-write"}
	for name, test := range map[string]struct {
		roots        bool           // Codex's own configuration has a writable root
		turn, resume map[string]any // settings
	}{
		"roots":             {roots: true},
		"roots, named":      {roots: true, resume: named},
		"roots, not in use": {roots: true, turn: map[string]any{"sandboxPolicy": map[string]any{"type": "workspaceWrite"}}, resume: named},
		"network":           {turn: map[string]any{"sandboxPolicy": map[string]any{"type": "workspaceWrite", "networkAccess": true}}, resume: named},
	} {
		if !isSampledName(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lib, own := t.TempDir(), ""
			if test.roots {
				own = "[sandbox_workspace_write]\nwritable_roots = [\"" + lib + "\"]\n"
			}
			w := newWorld(t, options{codexConfig: own, mute: "many", config: "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\n" +
				"network = true\nprotected_paths = [\".github\"]\nwritable_roots = [\"${workspace}\", \"" + lib + "\"]\n"})
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			turn, mark := a.startTurnWith(thread, "RUN: true", test.turn)
			a.waitTurn(thread, turn, mark)
			resume := map[string]any{"threadId": thread}
			for field, value := range test.resume {
				resume[field] = value
			}
			if profile := editor.Member(a.must("thread/resume", resume), "activePermissionProfile", "id"); !strings.HasPrefix(profile, "codex-bridge") {
				t.Errorf("profile %q", profile)
			}
			a.turn(thread, "RUN: touch made")
			if !w.hasFile("workspace/made") {
				t.Error(w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}
