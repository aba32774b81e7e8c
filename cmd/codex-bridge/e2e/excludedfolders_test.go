//go:build linux

package e2e_test

import (
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// The bridge's own turns, and a sandbox in place of a wider one, make no temporary folder writable that workspace-write
// does not with Codex alone: by the user's configuration, or by the request that opened the thread. The turn without
// either is the control.
func TestTurnsOfBridgeExcludeTemporaryFolders(t *testing.T) {
	t.Parallel()
	const excluding = "[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n"
	overlay := map[string]any{"sandbox_workspace_write.exclude_slash_tmp": true, "sandbox_workspace_write.exclude_tmpdir_env_var": true}
	for name, test := range map[string]struct {
		config  string
		overlay map[string]any
		want    string
	}{
		"neither":       {"", nil, "slash tmpdir"},
		"configuration": {excluding, nil, ""},
		"overlay":       {"", overlay, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{codexConfig: test.config, config: boundPolicy + "config_keys = [\"**\"]\n"})
			w.write("workspace/try.sh", "{ : > /tmp/$1 && rm /tmp/$1 && echo slash; : > $TMPDIR/$1 && rm $TMPDIR/$1 && echo tmpdir; } 2>/dev/null\n")
			script := "RUN: TMPDIR=" + filepath.Join(w.root, "home.tmp") + " sh try.sh " + filepath.Base(w.root)
			written := func(what string) {
				t.Helper()
				if got := w.secretsRead(); got != test.want {
					t.Errorf("%s could write %q, want %q", what, got, test.want)
				}
			}
			thread := map[string]any{"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "workspace-write", "config": test.overlay}
			c := w.open(proxyArgv...).initializeWithBridge()
			id := c.runSessionTurn("chat", script, map[string]any{"thread": thread}).ThreadID
			written("bridge/turn/run")
			c.must("bridge/turn/set", map[string]any{"sessionKey": "chat", "sandbox": "workspace-write"})
			c.runTurn(id, script)
			written("a turn after bridge/turn/set")
			turn, mark := c.startTurnWith(id, script, map[string]any{"sandboxPolicy": map[string]any{"type": "dangerFullAccess"}})
			c.waitTurn(id, turn, mark)
			written("a turn with less than it asked for")
			c.closeAndWait()
			c = w.open(proxyArgv...).initializeWithBridge()
			c.runSessionTurn("chat", script, nil)
			written("the next process")
			c.closeAndWait()
		})
	}
}

// The parameters of a thread in bridge/turn/run count for a session that has one if they are stricter. Others are for a
// new thread: the second turn is the control.
func TestRunMakesThreadStricter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: boundPolicy})
	c := w.open(proxyArgv...).initializeWithBridge()
	run := func(command, sandbox, approval string) {
		t.Helper()
		c.runSessionTurn("chat", "RUN: "+command, map[string]any{"thread": map[string]any{"cwd": w.workspace, "approvalPolicy": approval, "sandbox": sandbox}})
	}
	run("touch first", "workspace-write", "on-request")
	run("touch second", "workspace-write", "on-request")
	run("touch third", "read-only", "on-request")
	run("touch fourth", "workspace-write", "on-request")
	if got := strings.Join(w.names(), " "); !strings.Contains(got, "first") || !strings.Contains(got, "second") || strings.Contains(got, "third") || strings.Contains(got, "fourth") {
		t.Errorf("files %s, want first and second", got)
	}
	c.closeAndWait()
}

// A client that closes a thread and opens it again in the same process gets the sandbox that the thread had, as with
// Codex alone, and not Codex's default.
func TestReopenedThreadKeepsSandbox(t *testing.T) {
	t.Parallel()
	const codexConfig = "sandbox_mode = \"workspace-write\"\n[sandbox_workspace_write]\nnetwork_access = true\n"
	for name, argv := range map[string][]string{"codex alone": {codexPath, "app-server"}, "the bridge": proxyArgv} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{codexConfig: codexConfig, config: boundPolicy + "network = true\nconfig_keys = [\"**\"]\n"})
			c := w.open(argv...)
			c.initialize(nil)
			opened := c.must("thread/start", map[string]any{
				"cwd": w.workspace, "approvalPolicy": "on-request",
				"config": map[string]any{"sandbox_workspace_write.exclude_slash_tmp": true, "sandbox_workspace_write.network_access": false},
			})
			thread := editor.Member(opened, "thread", "id")
			c.runTurn(thread, "SAY: one")
			c.must("thread/unsubscribe", map[string]any{"threadId": thread})
			again := c.must("thread/resume", map[string]any{"threadId": thread})
			for _, member := range []string{"type", "excludeSlashTmp", "excludeTmpdirEnvVar", "networkAccess"} {
				if was, is := editor.Member(opened, "sandbox", member), editor.Member(again, "sandbox", member); was != is {
					t.Errorf("%s was %s, and is %s", member, was, is)
				}
			}
			c.closeAndWait()
		})
	}
}
