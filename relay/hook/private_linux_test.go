//go:build !portable && !loopback

package hook_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"codex-bridge.example/relay/hook"
)

// A server whose folder was removed leaves the socket of the next server there.
func TestListenAtLeavesOtherSocket(t *testing.T) {
	dir := filepath.Join(folder(t), "d")
	path := filepath.Join(dir, "s.sock")
	listenAt := func() *hook.PrivateListener {
		l, err := hook.ListenAt(path, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first := listenAt()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	second := listenAt()
	for _, step := range []struct {
		l      *hook.PrivateListener
		served bool
	}{{first, true}, {second, false}} {
		if err := step.l.Close(); err != nil {
			t.Error(err)
		}
		if hook.IsServed(path) != step.served {
			t.Errorf("a server at the path: %v, want %v", !step.served, step.served)
		}
		if _, err := os.Lstat(path); (err == nil) != step.served {
			t.Errorf("the socket: %v", err)
		}
	}
}
