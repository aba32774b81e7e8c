package hook_test

import (
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/relay/hook"
)

// A server listens on the version of IP that its address names.
func TestListensOnNamedFamily(t *testing.T) {
	for _, c := range []struct{ address, reached, refused string }{
		{"0.0.0.0:0", "127.0.0.1", "::1"},
		{"127.0.0.1:0", "127.0.0.1", "::1"},
		{"[::ffff:127.0.0.1]:0", "127.0.0.1", "::1"},
		{"[::]:0", "::1", "127.0.0.1"},
		{"[::1]:0", "::1", "127.0.0.1"},
	} {
		l := listenTCP(t, c.address)
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		for host, want := range map[string]bool{c.reached: true, c.refused: false} {
			conn, err := net.Dial("tcp", net.JoinHostPort(host, port))
			if (err == nil) != want {
				t.Errorf("%s: a connection to %s: %v", c.address, host, err)
			}
			if err == nil {
				conn.Close()
			}
		}
		l.Close()
	}
}

// An address without a host would be all addresses of this machine.
func TestListensOnlyOnNamedHost(t *testing.T) {
	l, err := hook.ListenTCP(":0", filepath.Join(folder(t), "token"), noNetwork, slog.New(slog.DiscardHandler))
	if err == nil {
		l.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "names no host") {
		t.Errorf("an address without a host: %v", err)
	}
}

func listenTCP(t *testing.T, address string) *hook.PrivateListener {
	t.Helper()
	l, err := hook.ListenTCP(address, filepath.Join(folder(t), "token"), noNetwork, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func noNetwork() bool { return false }
