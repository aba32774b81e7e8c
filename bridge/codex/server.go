package codex

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Server is a Codex that serves several connections. It listens on the loopback interface, and only this
// process has the token: a command of a thread, even one with network, must not reach Codex past the
// policy. Codex has no token for Unix sockets. Its methods may be called concurrently.
type Server struct {
	child   *Child
	address string
	token   string
	http    *http.Client
	done    chan struct{} // closed when Codex has exited and its orphans have ended
}

// maxTogether is how many bytes of Codex's stderr are written together.
const maxTogether = 64 << 10

// startTimeout is how long Codex may take to listen.
const startTimeout = time.Minute

// listening finds the address that Codex writes to stderr.
var listening = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`listening on: .*?(ws://127\.0\.0\.1:[0-9]+)`) })

// banner matches the lines in which Codex says where it listens. They would mislead the user: Codex is
// reached only through the bridge.
var banner = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\x1b\[[0-9;]*m)*(codex app-server \(WebSockets\)|  (listening on|readyz|healthz|note): )`)
})

// StartServer starts Codex. c.Args end with the command app-server and its flags. The output of Codex
// goes to stderr in whole lines, those that it has written together by one call. On Linux Codex ends with
// this process. The caller calls Close.
func StartServer(ctx context.Context, c Command, stderr io.Writer) (*Server, error) {
	s := &Server{token: rand.Text(), done: make(chan struct{}), http: &http.Client{Transport: &http.Transport{Proxy: nil}}}
	sum := sha256.Sum256([]byte(s.token))
	c.Args = append(slices.Clip(c.Args), "--listen", "ws://127.0.0.1:0", "--ws-auth", "capability-token", "--ws-token-sha256", hex.EncodeToString(sum[:]))
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	started := make(chan error, 1)
	go func() { // ends with Codex: Linux sends the death signal when this thread ends
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var err error
		s.child, err = start(c, write)
		started <- err
		if err == nil {
			<-s.child.done
		}
	}()
	err = <-started
	write.Close()
	if err != nil {
		read.Close()
		return nil, err
	}
	go func() { _, _ = io.Copy(io.Discard, s.child.stdout) }() // ends with Codex
	go func() {                                                // ends with Codex
		<-s.child.done
		s.child.ExitState()
		close(s.done)
	}()
	address := make(chan string, 1)
	var said strings.Builder
	go func() { // ends with Codex and its hooks
		defer read.Close()
		defer close(address)
		lines, listens := bufio.NewReaderSize(read, maxTogether), false
		var together strings.Builder
		for {
			line, err := lines.ReadString('\n')
			if err != nil && line == "" {
				return
			}
			if found := listening().FindStringSubmatch(line); found != nil && !listens {
				address <- found[1]
				listens = true
			}
			if !banner().MatchString(line) {
				together.WriteString(line)
				if !listens {
					said.WriteString(line)
				}
			}
			if more, _ := lines.Peek(lines.Buffered()); bytes.IndexByte(more, '\n') < 0 && together.Len() > 0 {
				_, _ = io.WriteString(stderr, together.String())
				together.Reset()
			}
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case found, ok := <-address:
		if s.address = found; ok {
			return s, nil
		}
		s.Close(0, 0)
		return nil, fmt.Errorf("codex app-server has ended at its start: %s", strings.TrimSpace(said.String()))
	case <-ctx.Done():
		s.Close(0, 0)
		return nil, fmt.Errorf("codex app-server does not listen: %w", context.Cause(ctx))
	}
}

// Done returns a channel that is closed when Codex has exited. Its orphans have ended: another Codex may start.
func (s *Server) Done() <-chan struct{} { return s.done }

// PID returns Codex's process id.
func (s *Server) PID() int { return s.child.PID() }

// Close ends Codex with its commands, and waits for that: for turns, which is how long Codex may go on with
// running ones, then for the grace. Measured with Codex 0.169: after one SIGTERM it waits for running turns
// without limit, after a second one it ends at once.
func (s *Server) Close(turns, grace time.Duration) {
	defer func() { <-s.done }()
	s.child.stdin.Close()
	for _, wait := range []time.Duration{turns, grace} {
		s.child.Signal(terminate)
		if s.child.ExitsWithin(wait) {
			return
		}
	}
	s.child.Kill()
}

// Kill ends Codex with its commands at once.
func (s *Server) Kill() {
	s.child.Kill()
	<-s.done
}

// Dial opens a connection.
func (s *Server) Dial(ctx context.Context) (*Conn, error) {
	ws, _, err := websocket.Dial(ctx, s.address, &websocket.DialOptions{ //nolint:bodyclose // see its documentation
		HTTPClient: s.http, HTTPHeader: http.Header{"Authorization": {"Bearer " + s.token}},
	})
	if err != nil {
		return nil, fmt.Errorf("codex app-server can't be reached: %w", err)
	}
	c := &Conn{server: s, lines: NewWebSocket(ws, WebSocketOptions{}), done: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// exitDelay is how long after the end of a connection Codex's exit may be noticed.
const exitDelay = 500 * time.Millisecond

// Conn is a connection to a Server. Each line is one text message. Its methods may be called
// concurrently, those of its streams by one reader and one writer.
type Conn struct {
	server *Server
	lines  *WebSocket
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	once   sync.Once
	done   chan struct{} // closed when this side has ended the connection
}

// Streams returns the connection as streams of lines.
func (c *Conn) Streams() (in io.WriteCloser, out io.ReadCloser) { return connStream{c}, connStream{c} }

// Context returns a context that is done when the connection has ended.
func (c *Conn) Context() context.Context { return c.ctx }

// Done returns a channel that is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.ctx.Done() }

// ExitState returns how Codex exited, or nil if it goes on.
func (c *Conn) ExitState() *os.ProcessState {
	select {
	case <-c.done: // this side has ended the connection
		return nil
	default:
	}
	if !c.server.child.ExitsWithin(exitDelay) {
		return nil
	}
	return c.server.child.cmd.ProcessState
}

// Signal does nothing: Codex has other clients.
func (c *Conn) Signal(os.Signal) {}

// Stop ends the connection.
func (c *Conn) Stop(time.Duration) { c.Kill() }

// Kill ends the connection.
func (c *Conn) Kill() {
	c.once.Do(func() {
		close(c.done)
		c.cancel()
		c.lines.Close()
	})
}

// ExitsWithin waits for the end of the connection, and reports whether it has ended.
func (c *Conn) ExitsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.ctx.Done():
		return true
	case <-timer.C:
		return false
	}
}

// PID returns the id of Codex's process.
func (c *Conn) PID() int { return c.server.PID() }

// connStream is a Conn as a stream of lines.
type connStream struct{ c *Conn }

// Write sends each line as one message.
func (s connStream) Write(lines []byte) (int, error) { return s.c.lines.Write(lines) }

// Read returns messages with a line end after each.
func (s connStream) Read(b []byte) (int, error) {
	n, err := s.c.lines.Read(b)
	if err != nil {
		s.c.cancel()
	}
	return n, err
}

// Close ends the connection.
func (s connStream) Close() error {
	s.c.Kill()
	return nil
}
