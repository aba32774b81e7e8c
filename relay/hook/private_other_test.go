//go:build !linux || portable || loopback

package hook_test

import (
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"testing"

	"codex-bridge.example/relay/hook"
)

// The listener of the terminal interface is a local port, whose token is another each time.
func TestListenPrivateNeedsToken(t *testing.T) {
	tokens := map[string]bool{}
	for range 2 {
		l, err := hook.ListenPrivate("", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		address, err := url.Parse(l.Endpoint().Address)
		if err != nil || address.Scheme != "ws" || address.Hostname() != "127.0.0.1" {
			t.Errorf("%s, %v", l.Endpoint().Address, err)
		}
		conn, err := net.Dial("tcp", address.Host)
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		if token := l.Endpoint().Token; len(token) < 20 || tokens[token] {
			t.Errorf("the token is %q", token)
		} else {
			tokens[token] = true
		}
	}
}

// Sockets are served only on Linux, where the bridge sees whether a peer is sandboxed.
func TestSocketsAreNotServed(t *testing.T) {
	path := filepath.Join(folder(t), "serve.sock")
	if _, err := hook.ListenAt(path, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("ListenAt listens")
	}
	if _, _, err := hook.TakeOver(path, path+".lock", func() error { return nil }, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("TakeOver listens")
	}
	if _, err := hook.DialPrivate(t.Context(), path); err == nil {
		t.Error("DialPrivate connects")
	}
	if hook.IsLocked(path) {
		t.Error("it is locked")
	}
}
