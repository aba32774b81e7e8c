//go:build linux

package e2e_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// A resumed thread's tools differ from the current ones. With on_stale_tools = "fork" the client
// gets another thread, in the folder of the resumed one, and without more permissions.
func TestForkForNewToolsIsAsResumed(t *testing.T) {
	t.Parallel()
	before, after := hostTool("changes", "a", "old"), hostTool("changes", "b", "new")
	for _, how := range []string{"warn", "fork"} {
		for name, test := range map[string]struct {
			approval      string
			update        map[string]any // a change of settings before the resume
			resume        map[string]any
			questions     int
			writes, slash bool // in the workspace and in /tmp
			moved         bool
		}{
			"asked about everything":   {approval: "untrusted", questions: 1, writes: true, slash: true},
			"approvals lowered":        {update: map[string]any{"approvalPolicy": "untrusted"}, questions: 1, writes: true, slash: true},
			"sandbox lowered":          {update: map[string]any{"sandboxPolicy": map[string]any{"type": "readOnly"}}},
			"temporary folder lowered": {update: map[string]any{"sandboxPolicy": map[string]any{"type": "workspaceWrite", "excludeSlashTmp": true}}, writes: true},
			"approvals named":          {resume: map[string]any{"approvalPolicy": "on-request"}, writes: true, slash: true},
			"moved":                    {moved: true},
		} {
			if how == "warn" && name == "temporary folder lowered" {
				continue // Codex does not restore that if the bridge's profile is not needed
			}
			if !isSampledName(3, how+" "+name) {
				continue
			}
			t.Run(how+" "+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{mute: "many", config: "[policy]\nsandbox = \"read-only\"\n"})
				lib, other := filepath.Join(w.root, "lib"), filepath.Join(w.root, "other")
				w.repositoryIn("lib")
				w.repositoryIn("other")
				slash, err := os.MkdirTemp("/tmp", "codex-bridge-e2e-")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { os.RemoveAll(slash) })
				slash = filepath.Join(slash, "made")
				if test.moved {
					w.write("other/.codex-bridge.toml", "[[policy.rule]]\ncommand = \"touch **\"\ndecision = \"deny\"\n")
				}
				base := fmt.Sprintf("[policy]\napproval = [\"untrusted\", \"on-request\"]\nsandbox = \"workspace-write\"\nwritable_roots = [\"${workspace}\", %q]\n", lib) + unhurriedCodex
				w.write("config.toml", base+before)
				a := w.newAcceptingEditor(proxyArgv...)
				approval := "on-request"
				if test.approval != "" {
					approval = test.approval
				}
				thread := a.thread(map[string]any{"cwd": other, "approvalPolicy": approval, "sandbox": "workspace-write"})
				a.turn(thread, "RUN: true")
				if test.update != nil {
					update := map[string]any{"threadId": thread}
					maps.Copy(update, test.update)
					a.must("thread/settings/update", update)
					a.must("model/list", map[string]any{})
				}
				if test.moved {
					turn, mark := a.startTurnWith(thread, "RUN: true", map[string]any{"cwd": lib, "runtimeWorkspaceRoots": []string{lib}})
					a.waitTurn(thread, turn, mark)
				}
				a.closeAndWait()
				w.write("config.toml", base+after+"\n[thread]\non_stale_tools = \""+how+"\"\n")
				a = w.newAcceptingEditor(proxyArgv...)
				resume := map[string]any{"threadId": thread}
				maps.Copy(resume, test.resume)
				if test.moved {
					resume["cwd"] = other
				}
				opened := a.must("thread/resume", resume)
				id := editor.Member(opened, "thread", "id")
				if (id != thread) != (how == "fork") {
					t.Fatalf("thread %s resumed as %s", thread, id)
				}
				if cwd := editor.Member(opened, "cwd"); cwd != other {
					t.Errorf("the thread works in %s", cwd)
				}
				if test.slash != (editor.Member(opened, "sandbox", "excludeSlashTmp") != "true") && test.writes {
					t.Errorf("sandbox in the response: %s", editor.Member(opened, "sandbox"))
				}
				asked := a.turn(id, "RUN: touch two")
				a.turn(id, "RUN: touch "+slash)
				if len(asked) != test.questions {
					t.Errorf("%d questions, want %d", len(asked), test.questions)
				}
				if w.hasFile("other/two") != test.writes || w.hasFile("lib/two") {
					t.Errorf("written in the workspace: %v, in the folder of the turn: %v; the model got %q", w.hasFile("other/two"), w.hasFile("lib/two"), w.lastToolOutput())
				}
				if left := os.Remove(slash) == nil; left != test.slash {
					t.Errorf("written in /tmp: %v; the model got %q", left, w.lastToolOutput())
				}
				a.closeAndWait()
			})
		}
	}
}
