//go:build linux

package e2e_test

import (
	"os"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// The version of the program counts. A client chooses the start of the userAgent in the response to
// initialize (R3): "evil/9.9.9" once counted as Codex 9.9.9.
func TestClientNameIsNoVersion(t *testing.T) {
	t.Parallel()
	hello := map[string]any{"clientInfo": map[string]any{"name": "evil/9.9.9", "version": "1"}, "capabilities": map[string]any{"experimentalApi": true}}

	// Control: the client's name is in the userAgent.
	alone := newWorld(t, options{}).open(codexPath, "app-server")
	agent := editor.Member(alone.must("initialize", hello), "userAgent")
	if !strings.HasPrefix(agent, "evil/9.9.9/") {
		t.Fatalf("userAgent %q: the test shows nothing", agent)
	}
	alone.closeAndWait()

	for _, c := range []struct {
		name, minimum, refusal string
	}{
		{"too old", "0.170.0", "codex is 0.169.0; 0.170.0 or later is needed"},
		{"new enough", "0.169.0", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\n[codex]\nmin_version = \"" + c.minimum + "\"\nshutdown_grace = \"1m\"\n"})
			e := w.open(proxyArgv...)
			if c.refusal == "" {
				e.must("initialize", hello)
				e.must("model/list", map[string]any{})
			} else {
				for _, method := range []string{"initialize", "thread/start", "model/list"} {
					if err := e.mustFail(method, hello); !strings.Contains(err.Message, c.refusal) {
						t.Errorf("%s: %v", method, err)
					}
				}
			}
			e.closeAndWait()
		})
	}

	t.Run("unknown", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\n", mute: "codex is none that makes noise"})
		// A Codex with an invalid version text, which works.
		script := w.write("codex", "#!/bin/sh\ncase \"$*\" in *--version*) echo 'codex-cli 0.169.0 or 9.9.9' ;; *) exec '"+codexPath+"' \"$@\" ;; esac\n")
		if err := os.Chmod(script, 0o700); err != nil {
			t.Fatal(err)
		}
		w.env = append(w.env, "CODEX_BRIDGE_CODEX="+script)
		e := w.open(proxyArgv...)
		if err := e.mustFail("initialize", hello); !strings.Contains(err.Message, "the version of codex is unknown") || !strings.Contains(err.Message, "0.169.0 or 9.9.9") {
			t.Error(err)
		}
		e.closeAndWait()
	})
}

// The user and the decision log learn once that Codex is newer than the tested one.
func TestNewerCodexIsReported(t *testing.T) {
	t.Parallel()
	for version, told := range map[string]bool{"0.170.0": true, "0.169.0": false} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\n", mute: "codex is none that makes noise"})
			script := w.write("codex", "#!/bin/sh\ncase \"$*\" in *--version*) echo 'codex-cli "+version+"' ;; *) exec '"+codexPath+"' \"$@\" ;; esac\n")
			if err := os.Chmod(script, 0o700); err != nil {
				t.Fatal(err)
			}
			w.env = append(w.env, "CODEX_BRIDGE_CODEX="+script)
			c := w.newAcceptingEditor(proxyArgv...)
			for range 2 {
				c.turn(c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"}), "SAY: hi")
			}
			notices := 0
			for _, m := range c.Messages() {
				if m.Method == "configWarning" && strings.Contains(m.Param("summary"), version+" is newer than 0.169.0") {
					notices++
				}
			}
			c.closeAndWait()
			list, _, _ := w.runCommand("decisions", "list", "--json")
			if want := map[bool]int{true: 1}[told]; notices != want || strings.Count(list, "is newer than") != want {
				t.Errorf("%d notices, want %d; the log:\n%s", notices, want, list)
			}
		})
	}
}
