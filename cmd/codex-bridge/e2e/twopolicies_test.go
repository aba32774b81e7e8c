//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
)

// The policy file of the bridge's start folder also counts in a thread of a folder with its own
// policy file: the thread's folder is not trusted, and the protected paths of both are read-only.
func TestPolicyFileOfStartCountsBesideThatOfThreadFolder(t *testing.T) {
	t.Parallel()
	const never = "project_trust = \"never\"\n"
	const protect = "protected_paths = [\".git\", \".codex\", \".agents\", %q]\n"
	rule := "[[policy.rule]]\ncommand = \"touch **\"\ndecision = \"deny\"\n"
	for name, test := range map[string]struct {
		argv                  []string
		start, own            string // policy files
		served, zeta, ypsilon bool   // the server started, and the files were written
	}{
		"codex alone":                  {[]string{codexPath, "app-server"}, "", "", true, true, true},
		"that of the thread's folder":  {proxyArgv, "", "[policy]\n" + fmt.Sprintf(protect, "ypsilon"), true, true, false},
		"that of the start":            {proxyArgv, "[policy]\n" + never + fmt.Sprintf(protect, "zeta"), "", false, false, true},
		"both, one with a rule only":   {proxyArgv, "[policy]\n" + never + fmt.Sprintf(protect, "zeta"), rule, false, false, true},
		"both, with protected paths":   {proxyArgv, "[policy]\n" + never + fmt.Sprintf(protect, "zeta"), "[policy]\n" + fmt.Sprintf(protect, "ypsilon"), false, false, false},
		"both, with trust by the user": {proxyArgv, "[policy]\n" + fmt.Sprintf(protect, "zeta"), "[policy]\nproject_trust = \"user\"\n", true, false, true},
		"never in the thread's folder": {proxyArgv, "[policy]\n" + fmt.Sprintf(protect, "zeta"), "[policy]\n" + never, false, false, true},
	} {
		if !isSampledName(3, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\n", mute: "many"})
			w.repositoryIn("other")
			other := filepath.Join(w.root, "other")
			for file, text := range map[string]string{"workspace": test.start, "other": test.own} {
				if text != "" {
					w.write(file+"/.codex-bridge.toml", text)
				}
			}
			w.write("other/.codex/config.toml", fmt.Sprintf("[mcp_servers.x]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \"touch %s/served\"]\n", w.root))
			w.write("other/zeta/x", "old")
			w.write("other/ypsilon/x", "old")
			w.write("other/write.sh", "echo new > zeta/x; echo new > ypsilon/x; echo new > made")
			w.write("home/config.toml", fmt.Sprintf("%s\n[projects.%q]\ntrust_level = \"trusted\"\n", w.read("home/config.toml"), other))
			a := w.newAcceptingEditor(test.argv...)
			thread := a.thread(map[string]any{"cwd": other, "approvalPolicy": "on-request", "sandbox": "workspace-write"})
			a.turn(thread, "RUN: sh write.sh")
			if !w.hasFile("other/made") {
				t.Errorf("the script did not run: %q", w.lastToolOutput())
			}
			for deadline := time.Now().Add(time.Second); test.served && !w.hasFile("served") && time.Now().Before(deadline); {
				time.Sleep(10 * time.Millisecond)
			}
			if got := w.hasFile("served"); got != test.served {
				t.Errorf("the project's server started: %v", got)
			}
			for folder, want := range map[string]bool{"zeta": test.zeta, "ypsilon": test.ypsilon} {
				if got := w.read("other/"+folder+"/x") != "old"; got != want {
					t.Errorf("%s was written: %v", folder, got)
				}
			}
			a.closeAndWait()
		})
	}
}

// A command of the client runs under the policy file of its folder, as one of the model does.
func TestCommandOfClientUnderPolicyFileOfItsFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nprotected_paths = []\n"})
	w.write("workspace/sub/.codex-bridge.toml", "[policy]\nsandbox = \"read-only\"\n[[policy.rule]]\ncommand = \"touch **\"\ndecision = \"deny\"\n")
	w.write("workspace/plain/x", "")
	a := w.newAcceptingEditor(proxyArgv...)
	a.turn(a.thread(map[string]any{"cwd": filepath.Join(w.workspace, "sub"), "approvalPolicy": "on-request"}), "RUN: touch model")
	exec := func(folder string, command ...string) map[string]any {
		return map[string]any{"command": command, "cwd": filepath.Join(w.workspace, folder), "sandboxPolicy": map[string]any{"type": "workspaceWrite"}}
	}
	if err := a.mustFail("command/exec", exec("sub", "touch", "client")); !strings.Contains(err.Message, "policy.rule") {
		t.Error(err)
	}
	a.must("command/exec", exec("sub", "mkdir", "client"))
	a.must("command/exec", exec("plain", "touch", "client")) // the control
	for file, want := range map[string]bool{"sub/model": false, "sub/client": false, "plain/client": true} {
		if w.hasFile("workspace/"+file) != want {
			t.Errorf("%s exists: %v", file, !want)
		}
	}
	a.closeAndWait()
}

// A turn can't name the profile with the writable roots of Codex's configuration if the policy, or
// another policy of the thread, has forbidden a root since the thread opened.
func TestTurnDoesNotGetForbiddenRootsOfProfile(t *testing.T) {
	t.Parallel()
	const protect = "[policy]\nprotected_paths = [\"zeta\"]\n"
	for name, test := range map[string]struct {
		start, tightened string // the policy file of the start folder, and the replacement of the roots in the configuration
		allowed          bool
	}{
		"allowed":                       {allowed: true},
		"forbidden since":               {tightened: "writable_roots = [\"${workspace}\"]\n"},
		"forbidden where Codex started": {start: "[policy]\nwritable_roots = [\"${workspace}\"]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lib := t.TempDir()
			config := "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\n"
			w := newWorld(t, options{
				config:      config + fmt.Sprintf("writable_roots = [\"${workspace}\", %q]\n", lib),
				codexConfig: fmt.Sprintf("[sandbox_workspace_write]\nwritable_roots = [%q]\n", lib), mute: "many",
			})
			if test.start != "" {
				w.write("workspace/.codex-bridge.toml", test.start)
			}
			w.repositoryIn("other")
			w.write("other/.codex-bridge.toml", protect)
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(map[string]any{"cwd": filepath.Join(w.root, "other"), "approvalPolicy": "on-request", "permissions": ":workspace"})
			if test.tightened != "" {
				w.write("config.toml", config+test.tightened+withLongGrace("[policy]"))
				if _, err := a.WaitStderr(a.ctx, func(text string) bool { return strings.Contains(text, "still checked against the policies") }); err != nil {
					t.Fatal(err)
				}
			}
			turn, mark := a.startTurnWith(thread, "RUN: echo > made; echo > "+lib+"/x", map[string]any{"permissions": "codex-bridge-roots"})
			a.waitTurn(thread, turn, mark)
			if !w.hasFile("other/made") {
				t.Errorf("the turn lacks workspace-write: %q", w.lastToolOutput())
			}
			if _, err := os.Stat(lib + "/x"); (err == nil) != test.allowed {
				t.Errorf("the root: %v; the model got %q", err, w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}

// A policy that a session's thread keeps denies a method of the bridge, also for the session's key.
// Another session's thread opened after the policy was replaced.
func TestOwnMethodIsDeniedForSession(t *testing.T) {
	t.Parallel()
	base := "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\n"
	w := newWorld(t, options{config: base + "[policy.methods]\n\"bridge/turn/run\" = \"deny\"\n", mute: "the configuration changes"})
	c := w.open(proxyArgv...).initializeWithBridge()
	open := func(session string) string {
		return editor.Member(c.must("thread/start", map[string]any{
			"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "workspace-write", "bridge": map[string]any{"sessionKey": session},
		}), "thread", "id")
	}
	thread := open("kept")
	w.write("config.toml", base+withLongGrace(base))
	if _, err := c.WaitStderr(c.ctx, func(text string) bool { return strings.Contains(text, "still checked against the policies") }); err != nil {
		t.Fatal(err)
	}
	open("new")
	for address, test := range map[string]struct {
		key    string
		denied bool
	}{thread: {"threadId", true}, "kept": {"sessionKey", true}, "new": {"sessionKey", false}} {
		if _, err := c.Call(c.ctx, "bridge/turn/run", map[string]any{test.key: address, "input": "SAY: hello"}); (err != nil) != test.denied ||
			err != nil && !strings.Contains(err.Error(), "the configuration denies it") {
			t.Errorf("%s %s: %v", test.key, address, err)
		}
	}
	c.closeAndWait()
}
