//go:build linux

package e2e_test

import (
	"context"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// A deny rule added while a question is open counts when the answer arrives, for questions of the
// bridge and of Codex, and the user reads that their consent did not.
func TestRuleThatComesWhileAsked(t *testing.T) {
	t.Parallel()
	const base = "[policy]\napproval = [\"untrusted\", \"on-request\"]\nsandbox = \"workspace-write\"\nescalation = \"ask\"\n"
	for name, test := range map[string]struct {
		approval string
		text     func(w *world) string
		change   bool
		made     bool
	}{
		"the bridge asks":            {"untrusted", func(*world) string { return "RUN: touch made" }, true, false},
		"the bridge asks, no change": {"untrusted", func(*world) string { return "RUN: touch made" }, false, true},
		"codex asks":                 {"on-request", func(w *world) string { return w.escalates("workspace/made") }, true, false},
		"codex asks, no change":      {"on-request", func(w *world) string { return w.escalates("workspace/made") }, false, true},
	} {
		if !isSampledName(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: base, mute: "the configuration changes"})
			a := &acceptingEditor{}
			a.conversation = &conversation{world: w, ctx: deadline(t)}
			a.Editor = w.start(proxyArgv, editor.Options{Answer: func(ctx context.Context, _ editor.Message) (any, *editor.Error) {
				if test.change {
					w.write("config.toml", base+"[[policy.rule]]\ncommand = \"touch **\"\ndecision = \"deny\"\n"+withLongGrace(base))
					if _, err := a.WaitStderr(ctx, func(text string) bool { return strings.Contains(text, "still checked against the policies") }); err != nil {
						t.Error(err)
					}
				}
				return decision("accept"), nil
			}})
			a.initialize(map[string]any{"experimentalApi": true})
			a.turn(a.thread(map[string]any{"approvalPolicy": test.approval, "sandbox": "workspace-write"}), test.text(w))
			if w.hasFile("workspace/made") != test.made {
				t.Errorf("command ran: %v; the model got %q", !test.made, w.lastToolOutput())
			}
			if test.change {
				a.waitFor(0, "warning", func(m editor.Message) bool {
					return strings.Contains(m.Param("message"), "refused") && strings.Contains(m.Param("message"), "touch")
				})
			}
			a.closeAndWait()
		})
	}
}

// A repository's policy file allows only on-request. A client that requests untrusted still gets
// it, and the bridge asks the user.
func TestPolicyFileLeavesStricterValueOut(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{"nothing": "[policy]\n", "approval": "[policy]\napproval = [\"on-request\"]\n", "reviewers": "[policy]\nreviewers = [\"auto_review\"]\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\napproval = [\"untrusted\", \"on-request\"]\nsandbox = \"workspace-write\"\nreviewers = [\"user\", \"auto_review\"]\n"})
			w.write("workspace/.codex-bridge.toml", file)
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(map[string]any{"cwd": w.workspace, "approvalPolicy": "untrusted", "approvalsReviewer": "user", "sandbox": "workspace-write"})
			a.turn(thread, "RUN: touch made")
			if len(a.questionReasons()) != 1 || !w.hasFile("workspace/made") {
				t.Errorf("%d questions; made: %v", len(a.questionReasons()), w.hasFile("workspace/made"))
			}
			a.closeAndWait()
		})
	}
}
