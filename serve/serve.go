package serve

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"codex-bridge.example/bridge/codex"
)

const (
	// handshakeTimeout is the time in which a client must send its upgrade request.
	handshakeTimeout = 10 * time.Second
	// stalledAfter is how long a client may leave a message unread. Codex keeps in memory what a stalled
	// client has not read.
	stalledAfter = 10 * time.Minute
)

// Options configure a Server.
type Options struct {
	// Converse runs the conversation of one connection, and returns when it has ended. client reads and
	// writes JSON Lines, by one reader and one writer at a time; io.EOF is its end. An error means that
	// the conversation did not start. Converse may be called concurrently.
	// The end of ctx means that the server ends.
	Converse func(ctx context.Context, settings Settings, client io.ReadWriter) error
	// Identity is what the server says of itself at IdentityPath. It may be called concurrently.
	Identity func() Identity
	// Started is closed when conversations may begin. Until then clients wait, and IdentityPath answers. nil: at
	// once.
	Started <-chan struct{}
	// Token is the bearer token that clients must send; "" if they need none.
	Token string
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
	opening handshakes

	mu    sync.Mutex
	count int // open connections
}

// New returns a Server. The caller calls Serve, and Close at the end.
func New(o Options) *Server {
	s := &Server{options: o}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler: s, ReadHeaderTimeout: handshakeTimeout, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
		ConnContext: s.opening.begin, ConnState: s.opening.changed,
	}
	s.http.SetKeepAlivesEnabled(false) // each connection has one request
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

// IdentityPath is where a Server answers with its Identity.
const IdentityPath = "/codex-bridge"

// Identity is what a Server says of itself.
type Identity struct {
	PID      int  `json:"pid"`
	Enforces bool `json:"enforces"` // a policy
}

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
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) // else net/http waits for the body without a limit
		http.Error(w, "a request has no body here", http.StatusBadRequest)
		return
	}
	if r.URL.Path == IdentityPath {
		_ = json.NewEncoder(w).Encode(s.options.Identity()) // fails if the client has gone
		return
	}
	if r.URL.Path != "/" && r.URL.Path != "/rpc" {
		http.NotFound(w, r)
		return
	}
	if r.Header["Origin"] != nil { // as Codex's server: by DNS rebinding a page has the server's name
		http.Error(w, "web pages may not connect", http.StatusForbidden)
		return
	}
	want := []byte("Bearer " + s.options.Token)
	if s.options.Token != "" && subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
		http.Error(w, "the bearer token is missing or wrong", http.StatusUnauthorized)
		return
	}
	settings, err := parseSettings(r.Header)
	if err != nil {
		s.options.Log.Warn("a connection was refused", "error", err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.opening.end(r.Context())
	if !s.awaitStart(r.Context()) {
		http.Error(w, "codex-bridge serve ends", http.StatusServiceUnavailable)
		return
	}
	if !s.enter() {
		http.Error(w, "too many connections", http.StatusServiceUnavailable)
		return
	}
	defer s.leave()
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		s.options.Log.Warn("a connection was refused", "error", err)
		return
	}
	client := codex.NewWebSocket(conn, codex.WebSocketOptions{BinaryEnds: settings.Folder != "", Stall: stalledAfter, OnStall: func() {
		s.options.Log.Warn("a client has read nothing for " + stalledAfter.String() + "; its connection ends")
	}})
	defer context.AfterFunc(s.ctx, func() { client.Close() })()
	if err := s.options.Converse(s.ctx, settings, client); err != nil {
		s.options.Log.Error("a connection has no conversation", "error", err)
		_ = conn.Close(websocket.StatusInternalError, "codex-bridge can't start a conversation; its log says why")
		return
	}
	_ = conn.Close(websocket.StatusGoingAway, "the conversation has ended")
}

// awaitStart waits for Started. It returns false at the end of ctx, and if the server ends before.
func (s *Server) awaitStart(ctx context.Context) bool {
	if s.options.Started == nil {
		return true
	}
	select {
	case <-s.options.Started:
		return true
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
	return false
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
