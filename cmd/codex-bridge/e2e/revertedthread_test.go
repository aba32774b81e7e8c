//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// eitherCodex returns the command lines of Codex with the bridge, and of the control without.
func eitherCodex() map[string][]string {
	return map[string][]string{"Codex alone": {codexPath, "app-server"}, "bridge": proxyArgv}
}

// revert runs two turns in a thread, the last with more members, and takes it back.
func (a *acceptingEditor) revert(thread string, more map[string]any) {
	a.t.Helper()
	a.runTurn(thread, "good day")
	turn, mark := a.startTurnWith(thread, "good night", more)
	a.waitTurn(thread, turn, mark)
	a.must("thread/revert", map[string]any{"threadId": thread, "beforeTurnId": turn})
}

// A thread after thread/revert has two files. After a restart it keeps its permissions profile and its
// approval policy as with Codex alone, also if Codex was killed while it wrote a record. If its record
// can't be read, it opens only with a sandbox and an approval policy in the request.
func TestRevertedThreadKeepsItsProfile(t *testing.T) {
	t.Parallel()
	for name, argv := range eitherCodex() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			profile := strings.Replace(denyingProfile, `"guarded"`, `":workspace"`, 1)
			w := newDenyingWorld(t, "[policy]\napproval = [\"never\", \"on-request\"]\n", profile)
			a := w.newAcceptingEditor(argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "permissions": "guarded"})
			a.revert(thread, nil)
			a.closeAndWait()

			record := rollouts(t, w.home, thread)[1]
			text := w.read(strings.TrimPrefix(record, w.root+"/"))
			w.write(strings.TrimPrefix(record, w.root+"/"), text+`{"ordinal":9,"type":"turn_context","payload":{"cwd"`)
			a = w.newAcceptingEditor(argv...)
			for _, method := range []string{"thread/resume", "thread/fork"} {
				opened := a.must(method, map[string]any{"threadId": thread})
				id := editor.Member(opened, "thread", "id")
				if read, wrote := a.readsSecrets(id, nil); read || !wrote || editor.Member(opened, "approvalPolicy") != "on-request" {
					t.Errorf("%s: secrets are read: %v, the workspace is written: %v; %s", method, read, wrote, opened)
				}
			}
			a.closeAndWait()
			if name == "bridge" {
				w.checkUnreadableRecord(thread, record)
			}
		})
	}
}

// checkUnreadableRecord makes the record of a thread a link, which the bridge does not follow.
func (w *world) checkUnreadableRecord(thread, record string) {
	w.t.Helper()
	moved := filepath.Join(filepath.Dir(w.write("elsewhere/x", "")), filepath.Base(record))
	if err := os.Rename(record, moved); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Symlink(moved, record); err != nil {
		w.t.Fatal(err)
	}
	a := w.newAcceptingEditor(proxyArgv...)
	params := map[string]any{"threadId": thread, "cwd": w.workspace}
	for _, method := range []string{"thread/resume", "thread/fork"} {
		if err := a.mustFail(method, params); !strings.Contains(err.Message, "send approvalPolicy, and sandbox or permissions") {
			w.t.Errorf("%s: %v", method, err)
		}
	}
	params["approvalPolicy"], params["permissions"] = "on-request", "guarded"
	a.must("thread/resume", params)
	if read, wrote := a.readsSecrets(thread, nil); read || !wrote {
		w.t.Errorf("with the profile in the request, secrets are read: %v, the workspace is written: %v", read, wrote)
	}
	a.closeAndWait()
}

// In an unknown project a thread that was workspace-write without a profile becomes read-only, as with
// Codex alone, also after thread/revert. A thread that has only a name opens without a cwd.
func TestRevertedThreadInUnknownProject(t *testing.T) {
	t.Parallel()
	for name, argv := range eitherCodex() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\napproval = [\"never\", \"on-request\"]\n"})
			a := w.newAcceptingEditor(argv...)
			reverted := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only", "cwd": w.workspace})
			a.revert(reverted, map[string]any{"sandboxPolicy": map[string]any{"type": "workspaceWrite"}})
			named := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only", "cwd": w.workspace})
			a.must("thread/name/set", map[string]any{"threadId": named, "name": "empty"})
			a.closeAndWait()

			a = w.newAcceptingEditor(argv...)
			for _, thread := range []string{reverted, named} {
				opened := a.must("thread/resume", map[string]any{"threadId": thread})
				if editor.Member(opened, "sandbox", "type") != "readOnly" || editor.Member(opened, "approvalPolicy") != "on-request" {
					t.Errorf("%s", opened)
				}
				a.turn(thread, "RUN: touch made")
				if w.hasFile("workspace/made") {
					t.Error("a command writes")
				}
			}
			a.closeAndWait()
		})
	}
}
