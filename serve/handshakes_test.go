package serve_test

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"codex-bridge.example/serve"
)

// Of too many connections that send nothing the oldest one is closed. A client connects nevertheless, and one with a
// conversation stays.
func TestSilentConnectionsKeepNoOneOut(t *testing.T) {
	s := start(t, serve.Options{Token: "t"})
	conn := s.dial(t, &websocket.DialOptions{HTTPHeader: map[string][]string{"Authorization": {"Bearer t"}}})
	silent := make([]net.Conn, serve.MaxHandshakes+1)
	for i := range silent {
		silent[i] = s.connect(t)
	}
	if got, err := io.ReadAll(silent[0]); err != nil || len(got) > 0 {
		t.Errorf("the oldest connection has %q, %v", got, err)
	}
	if got := exchange(t, silent[1], "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 401") {
		t.Errorf("the next connection has %q", got)
	}
	if err := conn.Write(t.Context(), websocket.MessageText, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if got := s.line(t); got != "{}" {
		t.Errorf("the client sent %q", got)
	}
}

// A connection ends with its request, also with one whose body never comes.
func TestOneRequestPerConnection(t *testing.T) {
	s := start(t, serve.Options{Identity: func() serve.Identity { return serve.Identity{PID: 7} }})
	for request, want := range map[string]string{
		"GET " + serve.IdentityPath + " HTTP/1.1\r\nHost: h\r\n\r\n":                       `{"pid":7,`,
		"GET /other HTTP/1.1\r\nHost: h\r\n\r\n":                                           "404",
		"POST " + serve.IdentityPath + " HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n": "400",
		"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n":                 "400",
	} {
		if got := exchange(t, s.connect(t), request); !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %s", request, got, want)
		}
	}
}

// connect opens a connection that sends nothing.
func (s *server) connect(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "ws://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// exchange sends a request, and returns all that the server sends until it ends the connection.
func exchange(t *testing.T, conn net.Conn, request string) string {
	t.Helper()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}
