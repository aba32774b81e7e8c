//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/cmd/internal/editor"
)

// The client can't choose the version, though the userAgent in the response to initialize begins with its
// name (R3): "evil/9.9.9" once counted as Codex 9.9.9.
func TestClientNameIsNoVersion(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"evil/9.9.9", "evil/9.9.9 (", "evil/9.9.9 (x) y (evil; 1)\u00e9/"} {
		hello := map[string]any{"clientInfo": map[string]any{"name": name, "version": "1"}, "capabilities": map[string]any{"experimentalApi": true}}

		// Control: the client's name is in the userAgent.
		alone := newWorld(t, options{}).open(codexPath, "app-server")
		agent := editor.Member(alone.must("initialize", hello), "userAgent")
		if !strings.HasPrefix(agent, name+"/"+methods.Measured+" (") {
			t.Fatalf("userAgent %q: the test shows nothing", agent)
		}
		alone.closeAndWait()

		for _, c := range []struct {
			name, minimum, refusal string
		}{
			{"too old", "99.0.0", "codex is " + methods.Measured + "; 99.0.0 or later is needed"},
			{"new enough", methods.Measured, ""},
		} {
			t.Run(c.name, func(t *testing.T) {
				w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\n[codex]\nmin_version = \"" + c.minimum + "\"\nshutdown_grace = \"1m\"\n"})
				e := w.open(proxyArgv...)
				e.checkInitialize(hello, c.refusal)
			})
		}
	}
}

// checkInitialize sends initialize and other requests, which must all be refused with this text, or none if it
// is "". Then it ends the conversation.
func (c *conversation) checkInitialize(hello map[string]any, refusal string) {
	c.t.Helper()
	if refusal == "" {
		c.must("initialize", hello)
		c.must("model/list", map[string]any{})
	} else {
		for _, method := range []string{"initialize", "initialize", "thread/start", "model/list"} {
			if err := c.mustFail(method, hello); !strings.Contains(err.Message, refusal) {
				c.t.Errorf("%s: %v", method, err)
			}
		}
	}
	c.closeAndWait()
}

// codexWith makes the world use a program that works as Codex, with another output of --version, and a
// userAgent that a sed script changes. It returns the path of a file with a byte for each --version.
func (w *world) codexWith(version, change string) (runs string) {
	w.t.Helper()
	runs = w.write("version-runs", "")
	script := w.write("codex", "#!/bin/sh\ncase \"$*\" in *--version*) printf x >>'"+runs+"'; echo 'codex-cli "+version+"' ;; *) '"+codexPath+"' \"$@\" | sed -u '"+change+"' ;; esac\n")
	w.must(os.Chmod(script, 0o700))
	w.env = append(w.env, "CODEX_BRIDGE_CODEX="+script)
	return runs
}

// asVersion is a sed script that replaces the version in the userAgent of the tested Codex.
func asVersion(version string) string {
	return "s#/" + strings.ReplaceAll(methods.Measured, ".", "[.]") + " (#/" + version + " (#"
}

// codex --version runs only if the userAgent does not show the version for certain. The two differ here, so
// the result shows which one counted.
func TestVersionComesFromUserAgent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, env, output, change, refusal string
		runs                               int
	}{
		{name: "userAgent", output: "0.1.0"},
		{name: "old userAgent", output: methods.Measured, change: asVersion("0.165.0"), refusal: "codex is 0.165.0; 0.166.0 or later is needed"},
		{name: "name of the environment", env: "CODEX_INTERNAL_ORIGINATOR_OVERRIDE=test/9.9.9 (", output: "0.1.0", refusal: "codex is 0.1.0; 0.166.0 or later is needed", runs: 1},
		{name: "plain name of the environment", env: "CODEX_INTERNAL_ORIGINATOR_OVERRIDE=ide", output: "0.1.0"},
		{name: "another form", output: methods.Measured + " or 9.9.9", change: asVersion("9.9"), refusal: methods.Measured + " or 9.9.9", runs: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\n", mute: "codex is none that makes noise"})
			runs := w.codexWith(c.output, c.change)
			if c.env != "" {
				w.env = append(w.env, c.env)
			}
			e := w.open(proxyArgv...)
			hello := map[string]any{"clientInfo": map[string]any{"name": "test", "version": "1"}}
			e.checkInitialize(hello, c.refusal)
			if text, err := os.ReadFile(runs); err != nil || len(text) != c.runs {
				t.Errorf("codex --version was run %d times, want %d (%v)", len(text), c.runs, err)
			}
		})
	}
}

// If Codex ends before it has answered initialize, the client learns that at once: codex --version is not run.
func TestCodexEndsBeforeInitialize(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\n", mute: "codex is none that makes noise"})
	runs := w.write("version-runs", "")
	script := w.write("codex", "#!/bin/sh\ncase \"$*\" in *--version*) printf x >>'"+runs+"' ;; *) read line ;; esac\n")
	w.must(os.Chmod(script, 0o700))
	w.env = append(w.env, "CODEX_BRIDGE_CODEX="+script)
	e := w.open(proxyArgv...)
	err := e.mustFail("initialize", map[string]any{"clientInfo": map[string]any{"name": "test", "version": "1"}})
	if !strings.Contains(err.Message, "codex ended before it answered") {
		t.Error(err)
	}
	e.closeAndWait()
	if text, err := os.ReadFile(runs); err != nil || len(text) > 0 {
		t.Errorf("codex --version was run %d times (%v)", len(text), err)
	}
}

// The user and the decision log learn once, also over restarts, that Codex is newer than the tested one. Another
// state folder has its own notice.
func TestNewerCodexIsReported(t *testing.T) {
	t.Parallel()
	for version, told := range map[string]bool{"99.0.0": true, methods.Measured: false} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\n", mute: "codex is none that makes noise"})
			w.codexWith(version, asVersion(version))
			notices := 0
			run := func(threads int) {
				c := w.newAcceptingEditor(proxyArgv...)
				for range threads {
					c.turn(c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"}), "SAY: hi")
				}
				for _, m := range c.Messages() {
					if m.Method == "configWarning" && strings.Contains(m.Param("summary"), version+": it is newer than "+methods.Measured) {
						notices++
					}
				}
				c.closeAndWait()
			}
			run(2)
			run(1)
			list, _, _ := w.runCommand("decisions", "list", "--json")
			if want := map[bool]int{true: 1}[told]; notices != want || strings.Count(list, "is newer than") != want {
				t.Errorf("%d notices, want %d; the log:\n%s", notices, want, list)
			}
			if told {
				w.env = append(w.env, "CODEX_BRIDGE_STATE="+filepath.Join(w.root, "other state"))
				if run(1); notices != 2 {
					t.Errorf("another state folder: %d notices", notices)
				}
			}
		})
	}
}
