//go:build !portable

package codex_test

import (
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"codex-bridge.example/bridge/codex"
)

// After kill -9 of the bridge nothing runs on that Codex has started, whatever Codex does at a signal.
func TestKilledBridge(t *testing.T) {
	const asBridge = "CODEX_TEST_KILLED_BRIDGE"
	if script := os.Getenv(asBridge); script != "" {
		if _, err := codex.Start(codex.Command{Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}}); err != nil {
			t.Fatal(err)
		}
		select {} // until it is killed
	}
	for name, script := range map[string]string{
		"one SIGTERM does not end Codex":   `trap 'trap - TERM' TERM; echo ready >&2; while :; do sleep 0.05; done`,
		"Codex is deaf":                    `trap '' TERM; echo ready >&2; while :; do sleep 1; done`,
		"a command has left Codex's group": `setsid sleep 60 & echo ready >&2; wait`,
		"a command has no parent":          `(setsid sleep 60 &); echo ready >&2; cat`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			cmd := exec.Command(os.Args[0], "-test.run=^TestKilledBridge$")
			cmd.Env, cmd.Stderr = append(os.Environ(), asBridge+"="+script), w // which all processes keep open
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w.Close()
			if _, err := io.ReadFull(r, make([]byte, len("ready\n"))); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if err := r.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(r); err != nil {
				t.Errorf("a process runs on: %v %s", err, rest)
			}
		})
	}
}
