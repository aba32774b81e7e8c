//go:build linux

package e2e_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/codex"
)

// codexVersion returns the version of the Codex of the tests.
func codexVersion(t *testing.T) string {
	t.Helper()
	said, err := exec.Command(codexPath, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	return codex.ParseVersion(string(said))
}

// maxVersion is an enforced policy with a newest Codex.
func maxVersion(most string) string {
	return "[policy]\nmode = \"enforce\"\n[codex]\nmax_version = \"" + most + "\"\nshutdown_grace = \"1m\"\n"
}

// refusedAbove is the refusal of a version under maxVersion("0.166.0").
func refusedAbove(w *world, version string) string {
	return "codex is " + version + "; codex.max_version allows no later one than 0.166.0 (user " + w.root + "/config.toml:4): install 0.166.0, or raise codex.max_version"
}

// Under enforce, each way to a turn refuses a Codex that is newer than codex.max_version with a sentence that names
// the file. The maximum itself is allowed.
func TestNewerCodexThanMaxIsRefused(t *testing.T) {
	t.Parallel()
	version := codexVersion(t)
	t.Run("app-server", func(t *testing.T) {
		t.Parallel()
		hello := map[string]any{"clientInfo": map[string]any{"name": "test", "version": "1"}, "capabilities": map[string]any{"experimentalApi": true}}
		w := newWorld(t, options{config: maxVersion("0.166.0")})
		w.open(proxyArgv...).checkInitialize(hello, refusedAbove(w, version))
		newWorld(t, options{config: maxVersion(version)}).open(proxyArgv...).checkInitialize(hello, "")
	})
	for _, args := range [][]string{{"exec", "SAY: hello"}, {"run", "--session", "s", "SAY: hello"}, {"acp", "spawn", "SAY: hello"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			w := newAgentWorld(t, maxVersion("0.166.0"))
			stdout, stderr, code := w.runCommand(args...)
			if code == 0 || strings.Contains(stdout, "hello") || !strings.Contains(stderr, refusedAbove(w, version)) {
				t.Errorf("%q, %q, %d, want %q", stdout, stderr, code, refusedAbove(w, version))
			}
			w = newAgentWorld(t, maxVersion(version))
			if stdout, stderr, code = w.runCommand(args...); code != 0 || stdout != "hello\n" {
				t.Errorf("the maximum: %q, %q, %d", stdout, stderr, code)
			}
		})
	}
	t.Run("change of the limit", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, options{config: maxVersion(version)})
		c := w.open(proxyArgv...)
		c.initialize(nil)
		c.must("model/list", map[string]any{})
		w.write("config.toml", maxVersion("0.166.0"))
		for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			_, err := c.Call(deadline(t), "model/list", map[string]any{})
			if err != nil && strings.Contains(err.Message, refusedAbove(w, version)) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("not refused: %v", err)
			}
		}
		c.closeAndWait()
	})
}

// The name is short, since the path of the control socket has it.
func TestMaxServe(t *testing.T) {
	t.Parallel()
	version := codexVersion(t)
	w := newWorld(t, options{config: maxVersion("0.166.0")})
	if _, stderr, code := w.runCommand("serve"); code == 0 || !strings.Contains(stderr, refusedAbove(w, version)) {
		t.Errorf("%q, %d", stderr, code)
	}
	newWorld(t, options{config: maxVersion(version) + "[serve]\ncontrol_socket = true\n", mute: "the clients of one Codex have no noise"}).startServe()()
}
