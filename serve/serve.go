package serve

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"
)

const (
	// headerTimeout is the time in which a client must send its upgrade request.
	headerTimeout = 10 * time.Second
	// partSize is the size of the parts in which a long message is sent. Codex's own clients accept
	// 16 MiB in one frame.
	partSize = 16 << 10
	// stalledAfter is how long a client may leave a message unread. Codex keeps in memory what a stalled
	// client has not read.
	stalledAfter = 10 * time.Minute
)

// Conversation is what one client talks to. Read returns lines, Write takes whole lines. Close says
// that no line follows, and returns when the conversation has ended; then Read returns an error.
type Conversation = io.ReadWriteCloser

// Options configure a Server.
type Options struct {
	// Start starts the conversation of one connection. It may be called concurrently.
	Start func(Settings) (Conversation, error)
	// Token is the bearer token that clients must send; "" if they need none.
	Token string
	// MaxMessage is the largest message of a client in bytes; a longer one ends its connection.
	MaxMessage int64
	// MaxConnections is how many connections may be open at once; another gets status 503.
	MaxConnections int
	Log            *slog.Logger
}

// Server serves WebSocket clients.
type Server struct {
	options Options
	http    *http.Server
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	open    sync.WaitGroup

	mu    sync.Mutex
	count int // open connections
}

// New returns a Server. The caller calls Serve, and Close at the end.
func New(o Options) *Server {
	s := &Server{options: o}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: headerTimeout, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug)}
	return s
}

// Serve accepts connections until Close.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close ends all connections, and returns when their conversations have ended.
func (s *Server) Close() error {
	s.mu.Lock() // no connection enters from now on
	s.stop()
	s.mu.Unlock()
	err := s.http.Close()
	s.open.Wait()
	return err
}

// IdentityPath is where a Server says that it is one.
const IdentityPath = "/codex-bridge"

// Idle returns a channel that is closed when no connection has been open for the time d. It ends with
// ctx.
func Idle(ctx context.Context, d time.Duration, servers []*Server) <-chan struct{} {
	idle := make(chan struct{})
	go func() {
		tick := time.NewTicker(max(min(d/4, time.Minute), time.Millisecond))
		defer tick.Stop()
		last := time.Now()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if slices.ContainsFunc(servers, (*Server).isUsed) {
				last = time.Now()
			} else if time.Since(last) >= d {
				close(idle)
				return
			}
		}
	}()
	return idle
}

// isUsed reports whether a connection is open.
func (s *Server) isUsed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count > 0
}

// ServeHTTP serves one connection. Codex's server does it at the same two paths.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == IdentityPath {
		fmt.Fprintln(w, "codex-bridge")
		return
	}
	if r.URL.Path != "/" && r.URL.Path != "/rpc" {
		http.NotFound(w, r)
		return
	}
	want := []byte("Bearer " + s.options.Token)
	if s.options.Token != "" && subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
		http.Error(w, "the bearer token is missing or wrong", http.StatusUnauthorized)
		return
	}
	if !s.enter() {
		http.Error(w, "too many connections", http.StatusServiceUnavailable)
		return
	}
	defer s.leave()
	conn, err := websocket.Accept(w, r, nil) // refuses web pages of other origins
	if err != nil {
		s.options.Log.Warn("a connection was refused", "error", err)
		return
	}
	conn.SetReadLimit(s.options.MaxMessage)
	settings := parseSettings(r.Header)
	c, err := s.options.Start(settings)
	if err != nil {
		s.options.Log.Error("a connection has no conversation", "error", err)
		_ = conn.Close(websocket.StatusInternalError, "codex-bridge can't start a conversation; its log says why")
		return
	}
	s.converse(conn, c, settings.Folder != "")
}

func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count == s.options.MaxConnections || s.ctx.Err() != nil {
		return false
	}
	s.count++
	s.open.Add(1)
	return true
}

func (s *Server) leave() {
	s.mu.Lock()
	s.count--
	s.mu.Unlock()
	s.open.Done()
}

// converse copies messages between a client and its conversation until one of them ends.
// endsInput is whether a binary message is the end of the client's input.
func (s *Server) converse(conn *websocket.Conn, c Conversation, endsInput bool) {
	end := sync.OnceValue(c.Close)
	// A conversation that reads nothing blocks receiveMessages until it ends.
	defer context.AfterFunc(s.ctx, func() { _ = end() })()
	s.open.Go(func() { // ends with the conversation, or when the client has gone
		err := sendLines(s.ctx, conn, c)
		s.options.Log.Debug("a conversation has ended", "error", err)
		_ = conn.Close(websocket.StatusGoingAway, "the conversation has ended") // ends receiveMessages
		_, _ = io.Copy(io.Discard, c)                                           // what it writes at its end must not block it
	})
	err := receiveMessages(s.ctx, conn, c, endsInput)
	s.options.Log.Debug("a client has gone", "error", err)
	if err := end(); err != nil {
		s.options.Log.Error("a conversation can't be ended", "error", err)
	}
}

// receiveMessages writes each text message of the client as one line. Like Codex it ignores binary
// ones, unless one ends the input.
func receiveMessages(ctx context.Context, conn *websocket.Conn, c Conversation, endsInput bool) error {
	for {
		kind, text, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		if kind == websocket.MessageBinary && endsInput {
			return io.EOF
		}
		if kind != websocket.MessageText || len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		// Line ends are white space in JSON, or an error within a text. As spaces they are neither a
		// second line, nor read in two ways: Codex gets what the bridge has read.
		for i, b := range text {
			if b == '\n' || b == '\r' {
				text[i] = ' '
			}
		}
		if _, err := c.Write(append(text, '\n')); err != nil {
			return err
		}
	}
}

// sendLines sends each line as one text message. It holds no more than a part of a line.
func sendLines(ctx context.Context, conn *websocket.Conn, c Conversation) error {
	in := bufio.NewReaderSize(c, partSize)
	for {
		if _, err := in.Peek(1); err != nil {
			return err
		}
		if err := sendLine(ctx, conn, in); err != nil {
			return err
		}
	}
}

// sendLine sends one line. If the client does not read, the connection ends.
func sendLine(ctx context.Context, conn *websocket.Conn, in *bufio.Reader) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stalledAfter, errors.New("the client has read nothing for "+stalledAfter.String()))
	defer cancel()
	out, err := conn.Writer(ctx, websocket.MessageText)
	if err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	for whole := false; !whole; {
		part, err := in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err // an incomplete line is no message
		}
		whole = err == nil
		if _, err := out.Write(bytes.TrimSuffix(part, []byte("\n"))); err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
	}
	return out.Close()
}
