package codex_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/rpc"
)

// newWebSocket returns a connection and its peer.
func newWebSocket(t *testing.T, o codex.WebSocketOptions) (*codex.WebSocket, *websocket.Conn) {
	t.Helper()
	accepted := make(chan *websocket.Conn, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
		}
		accepted <- conn
	}))
	t.Cleanup(server.Close)
	peer, _, err := websocket.Dial(t.Context(), server.URL, &websocket.DialOptions{HTTPClient: server.Client()}) //nolint:bodyclose // see its documentation
	if err != nil {
		t.Fatal(err)
	}
	peer.SetReadLimit(-1)
	s := codex.NewWebSocket(<-accepted, o)
	t.Cleanup(func() {
		_ = peer.CloseNow()
		s.Close()
	})
	return s, peer
}

func send(t *testing.T, peer *websocket.Conn, kind websocket.MessageType, text string) {
	t.Helper()
	if err := peer.Write(t.Context(), kind, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// Each text message is one line, whatever line ends it has and however little is read at once. Only a
// client that says so ends its input by a binary message.
func TestWebSocketRead(t *testing.T) {
	for _, ends := range []bool{false, true} {
		s, peer := newWebSocket(t, codex.WebSocketOptions{BinaryEnds: ends})
		send(t, peer, websocket.MessageText, "{\"id\":1,\n\"method\":\r\"m\"}\n")
		send(t, peer, websocket.MessageText, "")
		send(t, peer, websocket.MessageText, strings.Repeat("x", 1<<20))
		send(t, peer, websocket.MessageBinary, `{"id":2}`)
		if !ends {
			send(t, peer, websocket.MessageText, "last")
			_ = peer.CloseNow()
		}
		want := []string{"{\"id\":1, \"method\": \"m\"} ", "", strings.Repeat("x", 1<<20)}
		if !ends {
			want = append(want, "last")
		}
		all, err := io.ReadAll(iotest.HalfReader(s))
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, strings.Split(strings.TrimSuffix(string(all), "\n"), "\n")); diff != "" {
			t.Error(diff)
		}
	}
}

// Each line is one message, whether a call writes several lines or a part of one.
func TestWebSocketWrite(t *testing.T) {
	s, peer := newWebSocket(t, codex.WebSocketOptions{Stall: time.Hour})
	long := strings.Repeat("x", 20<<20) // more than Codex accepts in one frame
	go func() {
		for _, part := range []string{"one\ntwo\n", "th", "re", "e\nfo", "ur\n", long + "\n", "\n", "{}\n"} {
			if n, err := s.Write([]byte(part)); n != len(part) || err != nil {
				t.Errorf("%d bytes written of %d: %v", n, len(part), err)
			}
		}
	}()
	for _, want := range []string{"one", "two", "three", "four", long, "", "{}"} {
		kind, got, err := peer.Read(t.Context())
		if err != nil || kind != websocket.MessageText || string(got) != want {
			t.Fatalf("%v, %d bytes, %v; want %d", kind, len(got), err, len(want))
		}
	}
}

// A peer that reads nothing loses its connection.
func TestWebSocketStall(t *testing.T) {
	stalled := make(chan struct{})
	s, _ := newWebSocket(t, codex.WebSocketOptions{Stall: 50 * time.Millisecond, OnStall: func() { close(stalled) }})
	line := append(bytes.Repeat([]byte("x"), 1<<20), '\n')
	for {
		if _, err := s.Write(line); err != nil {
			break
		}
	}
	<-stalled
	if _, err := bufio.NewReader(s).ReadByte(); err != io.EOF {
		t.Error(err)
	}
}

// A peer that reads keeps its connection, however long it is quiet.
func TestWebSocketQuiet(t *testing.T) {
	s, peer := newWebSocket(t, codex.WebSocketOptions{Stall: 50 * time.Millisecond, OnStall: func() { t.Error("stalled") }})
	for range 2 {
		if _, err := s.Write([]byte("{}\n")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := peer.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// A message that the peer does not finish is none.
func TestWebSocketUnfinishedMessage(t *testing.T) {
	s, peer := newWebSocket(t, codex.WebSocketOptions{})
	send(t, peer, websocket.MessageText, "{}")
	out, err := peer.Writer(t.Context(), websocket.MessageText)
	if err == nil {
		_, err = out.Write([]byte(`{"id":1}`))
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = peer.CloseNow()
	source := rpc.NewLineSource(s, 1<<20)
	if line, err := source.Next(); string(line) != "{}\n" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
	if line, err := source.Next(); err == nil {
		t.Errorf("%q is a message", line)
	}
}
