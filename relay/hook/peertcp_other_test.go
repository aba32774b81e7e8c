//go:build !linux || portable || loopback

package hook_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"codex-bridge.example/relay/hook"
)

// Where the bridge can't see whether a peer is sandboxed, it accepts none while commands have network.
func TestTCPPeers(t *testing.T) {
	checkAccepts(t, "accepted")
	checkAccepts(t, "rejected", "later")
	l, err := hook.ListenTCP("127.0.0.1:0", filepath.Join(folder(t), "token"), func() bool { return true }, slog.New(slog.DiscardHandler))
	if err == nil {
		l.Close()
		t.Error("it listens while commands have network")
	}
}
