//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

const canaryPolicy = `
[policy]
mode = "enforce"
approval = ["on-request", "untrusted"]
sandbox = "workspace-write"
escalation = "ask"

[[policy.rule]]
command = "touch forbidden"
decision = "deny"
reason = "Not this file."

[[policy.rule]]
command = "./allowed.sh"
decision = "allow"

[tools.weather]
description = "Tells the weather."
command = ["/bin/sh", "-c", "cat > asked; echo sunny"]
`

// TestCanary has the conversations that each release of Codex must pass: alone, through the bridge
// without a configuration, and under an enforced policy. cmd/bridge-releases runs it with each release
// (codexEnv), and docs/internals/releases.md has the results. Each row is a conversation of its own.
func TestCanary(t *testing.T) {
	t.Parallel()
	onRequest := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
	untrusted := map[string]any{"approvalPolicy": "untrusted", "sandbox": "workspace-write"}
	for _, row := range []struct {
		name string
		only string // the world in which the row makes sense; "" for all
		run  func(t *testing.T, w *world, a *acceptingEditor, argv []string)
	}{
		{"turn", "", func(t *testing.T, w *world, a *acceptingEditor, _ []string) {
			a.turn(a.thread(onRequest), "RUN: touch made")
			expectFiles(t, w, "made", true)
		}},
		{"approval", "", func(t *testing.T, w *world, a *acceptingEditor, _ []string) {
			if asked := a.turn(a.thread(untrusted), "RUN: touch made"); len(asked) != 1 {
				t.Errorf("asked %q", asked)
			}
			expectFiles(t, w, "made", true)
		}},
		{"patch", "", func(t *testing.T, w *world, a *acceptingEditor, _ []string) {
			a.turn(a.thread(onRequest), "PATCH: made\none")
			expectFiles(t, w, "made", true)
		}},
		{"escalation", "", func(t *testing.T, w *world, a *acceptingEditor, _ []string) {
			if asked := a.turn(a.thread(onRequest), "ESCALATE: touch ../outside"); len(asked) != 1 {
				t.Errorf("asked %q", asked)
			}
			expectFiles(t, w, "../outside", true)
		}},
		{"sandbox", "", func(t *testing.T, w *world, a *acceptingEditor, _ []string) {
			a.turn(a.thread(onRequest), "RUN: touch ../outside")
			expectFiles(t, w, "../outside", false)
		}},
		{"deny rule", "enforced", func(t *testing.T, w *world, a *acceptingEditor, _ []string) {
			a.turn(a.thread(onRequest), "RUN: touch forbidden")
			expectFiles(t, w, "forbidden", false)
		}},
		{"hook failure", "enforced", func(t *testing.T, w *world, a *acceptingEditor, _ []string) {
			thread := a.thread(onRequest)
			sockets, _ := filepath.Glob(filepath.Join(w.root, "state/run/*/hook.sock"))
			if len(sockets) != 1 || os.Remove(sockets[0]) != nil {
				t.Fatalf("the sockets of the hooks: %q", sockets)
			}
			a.turn(thread, "RUN: touch made")
			expectFiles(t, w, "made", false)
		}},
		{"full access", "enforced", func(t *testing.T, w *world, a *acceptingEditor, _ []string) {
			a.turn(a.thread(map[string]any{"approvalPolicy": "never", "sandbox": "danger-full-access"}), "RUN: touch ../outside")
			expectFiles(t, w, "../outside", false)
		}},
		{"resume", "", func(t *testing.T, w *world, a *acceptingEditor, argv []string) {
			thread := a.thread(onRequest)
			a.turn(thread, "SAY: hi")
			a.closeAndWait()
			b := w.newAcceptingEditor(argv...)
			b.must("thread/resume", map[string]any{"threadId": thread})
			b.turn(thread, "RUN: touch made")
			b.closeAndWait()
			expectFiles(t, w, "made", true)
		}},
		{"fork", "", func(t *testing.T, w *world, a *acceptingEditor, _ []string) {
			thread := a.thread(onRequest)
			a.turn(thread, "SAY: hi")
			fork := editor.Member(a.must("thread/fork", map[string]any{"threadId": thread}), "thread", "id")
			a.turn(fork, "RUN: touch made")
			expectFiles(t, w, "made", true)
		}},
		{"working folder", "enforced", func(t *testing.T, w *world, a *acceptingEditor, _ []string) {
			w.write("workspace/deeper/allowed.sh", "#!/bin/sh\ntouch made\n")
			if asked := a.turn(a.thread(untrusted), `CALL: exec_command {"cmd":"./allowed.sh","workdir":"deeper"}`); len(asked) != 1 {
				t.Errorf("asked %q: the rule is about the program of another folder", asked)
			}
		}},
		{"tools", "enforced", func(t *testing.T, w *world, a *acceptingEditor, _ []string) {
			a.turn(a.thread(onRequest), `CALL: weather {}`)
			expectFiles(t, w, "asked", true)
		}},
	} {
		for _, kind := range []string{"codex", "plain", "enforced"} {
			if row.only != "" && row.only != kind {
				continue
			}
			t.Run(kind+"/"+row.name, func(t *testing.T) {
				t.Parallel()
				o := options{mute: "releases differ in what they send"}
				argv := proxyArgv
				switch kind {
				case "codex":
					argv = []string{codexPath, "app-server"}
				case "enforced":
					o.config = canaryPolicy
				}
				w := newWorld(t, o)
				a := w.newAcceptingEditor(argv...)
				row.run(t, w, a, argv)
				a.closeAndWait()
			})
		}
	}
}

func expectFiles(t *testing.T, w *world, name string, want bool) {
	t.Helper()
	if got := w.hasFile("workspace/" + name); got != want {
		t.Errorf("%s was written: %v; the model got %.300q", name, got, w.lastToolOutput())
	}
}
