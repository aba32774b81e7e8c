package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/serve"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }

// server is a running server, with the lines of its only conversation.
type server struct {
	url     string
	lines   *bufio.Reader // from the client
	replies io.WriteCloser
	ended   chan struct{} // when the conversation has ended
	close   func()
}

func start(t *testing.T, o serve.Options) *server {
	t.Helper()
	fromClient, sent := io.Pipe()
	got, toClient := io.Pipe()
	s := &server{lines: bufio.NewReaderSize(fromClient, 1<<20), replies: toClient, ended: make(chan struct{})}
	if o.Converse == nil {
		o.Converse = func(_ context.Context, _ serve.Settings, client io.ReadWriter) error {
			go func() { // ends with the client
				_, _ = io.Copy(sent, client)
				sent.Close()
				toClient.Close()
			}()
			_, _ = io.Copy(client, got)
			got.Close()
			close(s.ended)
			return nil
		}
	}
	o.Log = slog.New(slog.DiscardHandler)
	if o.MaxConnections == 0 {
		o.MaxConnections = 2
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "ws://" + l.Addr().String()
	one := serve.New(o)
	served := make(chan error, 1)
	go func() { served <- one.Serve(l) }()
	s.close = sync.OnceFunc(func() {
		fromClient.Close()
		if err := one.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	t.Cleanup(s.close)
	return s
}

func (s *server) dial(t *testing.T, o *websocket.DialOptions) *websocket.Conn {
	t.Helper()
	conn, _, err := s.tryDial(t, "", o)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

// tryDial returns the status of the response, too.
func (s *server) tryDial(t *testing.T, path string, o *websocket.DialOptions) (conn *websocket.Conn, status int, err error) {
	t.Helper()
	conn, response, err := websocket.Dial(t.Context(), s.url+path, o) //nolint:bodyclose // Dial reads it
	if response != nil {
		status = response.StatusCode
	}
	return conn, status, err
}

func (s *server) line(t *testing.T) string {
	t.Helper()
	line, err := s.lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

// Each text message is one line, whatever line ends it has; other messages are none.
func TestMessagesBecomeLines(t *testing.T) {
	s := start(t, serve.Options{})
	conn := s.dial(t, nil)
	for _, m := range []struct {
		kind websocket.MessageType
		text string
	}{
		{websocket.MessageBinary, `{"id":0}`}, {websocket.MessageText, " \n"}, {websocket.MessageText, ""},
		{websocket.MessageText, "{\"id\":1,\n\"method\":\r\"m\"}\n"}, {websocket.MessageText, `{"id":2}`},
	} {
		if err := conn.Write(t.Context(), m.kind, []byte(m.text)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"  ", "", `{"id":1, "method": "m"} `, `{"id":2}`} {
		if got := s.line(t); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Each line is one text message, also a long one.
func TestLinesBecomeMessages(t *testing.T) {
	s := start(t, serve.Options{})
	conn := s.dial(t, nil)
	long := bytes.Repeat([]byte("x"), 3<<20)
	go func() {
		for _, line := range [][]byte{[]byte(`{"id":1}`), long, []byte("{}")} {
			_, _ = s.replies.Write(append(line[:len(line):len(line)], '\n'))
		}
	}()
	for _, want := range []string{`{"id":1}`, string(long), "{}"} {
		kind, got, err := conn.Read(t.Context())
		if err != nil || kind != websocket.MessageText || string(got) != want {
			t.Fatalf("%v, %d bytes, %v; want %d", kind, len(got), err, len(want))
		}
	}
}

// The conversation ends with its client, and the client's connection with its conversation.
func TestBothEnd(t *testing.T) {
	s := start(t, serve.Options{})
	conn := s.dial(t, nil)
	if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
	<-s.ended
	if _, err := s.lines.ReadByte(); err != io.EOF {
		t.Errorf("after the last line: %v", err)
	}

	s = start(t, serve.Options{})
	conn = s.dial(t, nil)
	s.replies.Close()
	if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("%v", err)
	}
	<-s.ended
}

// A client without the token, of a web page, on another path, or beyond the limit gets no
// connection. A page may have any name for the server.
func TestRefusedConnections(t *testing.T) {
	s := start(t, serve.Options{Token: "secret", MaxConnections: 1})
	right := http.Header{"Authorization": {"Bearer secret"}}
	for name, c := range map[string]struct {
		path   string
		header http.Header
		status int
	}{
		"no token":     {"/", nil, http.StatusUnauthorized},
		"wrong token":  {"/", http.Header{"Authorization": {"Bearer secreT"}}, http.StatusUnauthorized},
		"web page":     {"/rpc", http.Header{"Authorization": {"Bearer secret"}, "Origin": {"https://example.org"}}, http.StatusForbidden},
		"another path": {"/other", right, http.StatusNotFound},
		"settings":     {"/", http.Header{"Authorization": {"Bearer secret"}, serve.SettingsHeader: {"%7"}}, http.StatusBadRequest},
	} {
		if _, status, err := s.tryDial(t, c.path, &websocket.DialOptions{HTTPHeader: c.header, Host: "example.org"}); err == nil || status != c.status {
			t.Errorf("%s: %d, %v", name, status, err)
		}
	}
	s.dial(t, &websocket.DialOptions{HTTPHeader: right})
	if _, status, err := s.tryDial(t, "/rpc", &websocket.DialOptions{HTTPHeader: right}); err == nil || status != http.StatusServiceUnavailable {
		t.Errorf("a second connection: %d, %v", status, err)
	}
}

// A client whose conversation can't be started is told so.
func TestFailedStart(t *testing.T) {
	s := start(t, serve.Options{Converse: func(context.Context, serve.Settings, io.ReadWriter) error { return errors.New("no") }})
	_, _, err := s.dial(t, nil).Read(t.Context())
	if websocket.CloseStatus(err) != websocket.StatusInternalError || !strings.Contains(err.Error(), "can't start") {
		t.Errorf("%v", err)
	}
}

// Close ends conversations whose clients neither read nor send.
func TestCloseEndsAll(t *testing.T) {
	s := start(t, serve.Options{})
	s.dial(t, nil)
	written := make(chan struct{})
	go func() {
		defer close(written)
		for {
			if _, err := s.replies.Write(append(bytes.Repeat([]byte("x"), 1<<20), '\n')); err != nil {
				return
			}
		}
	}()
	select {
	case <-written:
		t.Error("a client that does not read gets everything")
	case <-time.After(300 * time.Millisecond):
	}
	s.close()
	<-written
}

// The end of a conversation does not wait for a client that has gone.
func TestConversationEndsWithoutClient(t *testing.T) {
	gone := make(chan struct{})
	s := start(t, serve.Options{Converse: func(_ context.Context, _ serve.Settings, client io.ReadWriter) error {
		<-gone
		for line, err := append(make([]byte, 1<<20), '\n'), error(nil); err == nil; {
			_, err = client.Write(line)
		}
		return nil
	}})
	if err := s.dial(t, nil).CloseNow(); err != nil {
		t.Fatal(err)
	}
	close(gone)
	s.close() // hangs if the conversation does not end
}

// While Codex starts, the server answers who it is, and clients wait.
func TestClientsWaitForStart(t *testing.T) {
	started := make(chan struct{})
	s := start(t, serve.Options{Started: started, Identity: func() serve.Identity { return serve.Identity{PID: 7} }})
	dialed := make(chan error, 1)
	go func() {
		conn, _, err := s.tryDial(t, "", nil)
		if err == nil {
			_ = conn.CloseNow()
		}
		dialed <- err
	}()
	response, err := http.Get(strings.Replace(s.url, "ws:", "http:", 1) + serve.IdentityPath)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || !strings.Contains(string(text), `"pid":7`) {
		t.Errorf("%s, %v", text, err)
	}
	select {
	case err := <-dialed:
		t.Fatalf("a client has not waited: %v", err)
	case <-time.After(100 * time.Millisecond): // without the wait it has a conversation by now
	}
	close(started)
	if err := <-dialed; err != nil {
		t.Error(err)
	}
}

// A server that ends while Codex starts leaves no client waiting.
func TestServerEndsBeforeStart(t *testing.T) {
	s := start(t, serve.Options{Started: make(chan struct{})})
	dialed := make(chan error, 1)
	go func() {
		_, _, err := s.tryDial(t, "", nil)
		dialed <- err
	}()
	s.close()
	if err := <-dialed; err == nil {
		t.Error("a client has a conversation")
	}
}
