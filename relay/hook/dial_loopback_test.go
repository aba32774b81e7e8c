package hook_test

import (
	"net"
	"os"
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
