//go:build windows || loopback

package hook_test

import (
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"codex-bridge.example/relay/hook"
)

// dial connects to the server without a token.
func dial(t *testing.T, s *hook.Server) net.Conn {
	t.Helper()
	address, err := os.ReadFile(s.Socket())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", string(address))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// listenInPlace listens at the address of the server's file in its place.
func listenInPlace(t *testing.T, s *hook.Server) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Socket(), []byte(l.Addr().String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

// The server listens on the loopback interface only.
func TestServerListensOnLoopback(t *testing.T) {
	text, err := os.ReadFile(listen(t, hook.Options{}).Socket())
	if err != nil {
		t.Fatal(err)
	}
	if address, err := netip.ParseAddrPort(string(text)); err != nil || !address.Addr().IsLoopback() {
		t.Errorf("%q, %v", text, err)
	}
}

// A process sends its token only to this machine.
func TestForgedAddressesAreRejected(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "no address of this machine",
		"127.0.0.1":                "no address of this machine",
		"127.0.0.1:x":              "no address of this machine",
		"127.0.0.1:1 ":             "no address of this machine",
		"localhost:1":              "no address of this machine",
		"0.0.0.0:1":                "no address of this machine",
		"192.0.2.1:1":              "no address of this machine",
		"[::ffff:192.0.2.1]:1":     "no address of this machine",
		strings.Repeat("1", 1<<20): "no address of this machine",
		"folder":                   "is not a file",
		"link":                     "is a symbolic link",
	} {
		s := listen(t, hook.Options{})
		err := os.Remove(s.Socket())
		switch text {
		case "folder":
			err = os.Mkdir(s.Socket(), 0o700)
		case "link":
			if err = os.Symlink("token", s.Socket()); err != nil {
				continue // Windows lets only administrators
			}
		default:
			err = os.WriteFile(s.Socket(), []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range hook.Events() {
			checkFailure(t, e, ask(t, s.Socket(), e, longTimeout, "--on-failure", "allow"), want)
		}
	}
}
