package hook

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"

	"codex-bridge.example/relay/hook/ask"
)

// PrivateListener accepts connections of Codex's terminal interface, but not of sandboxed commands
// and of other users.
type PrivateListener struct {
	net.Listener
	endpoint Endpoint
	release  func()               // of what the endpoint needs
	check    func(net.Conn) error // of the peer of a connection
	folder   string               // of the socket; "" without one
	log      *slog.Logger
	start    sync.Once // of acceptAll, by the first Accept
	results  chan acceptResult
	closing  chan struct{} // closed by Close
	once     sync.Once
	closed   error
}

// acceptResult is what Accept returns.
type acceptResult struct {
	conn net.Conn
	err  error
}

// maxChecks is how many connections are checked at once. A check reads the tables of the kernel, and those of each
// process.
const maxChecks = 8

// newPrivateListener returns a listener that accepts the connections of l that pass check, and calls release at its end.
func newPrivateListener(l net.Listener, endpoint Endpoint, check func(net.Conn) error, release func(), log *slog.Logger) *PrivateListener {
	return &PrivateListener{
		Listener: l, endpoint: endpoint, check: check, release: release, log: log,
		results: make(chan acceptResult), closing: make(chan struct{}),
	}
}

// Endpoint is how Codex's terminal interface finds a listener.
type Endpoint struct {
	Address string // for --remote
	Token   string // "" on Linux, where the listener sees which process connects
}

// privateHint is the hint for a folder that others can enter.
const privateHint = "set its mode to 0700, or name another folder"

// Accept returns the next connection that passes the check. The others are closed. It may be called again after an
// error.
func (l *PrivateListener) Accept() (net.Conn, error) {
	l.start.Do(func() { go l.acceptAll() })
	select {
	case r := <-l.results:
		return r.conn, r.err
	case <-l.closing:
		return nil, net.ErrClosed
	}
}

// acceptAll checks connections at the same time, so that none waits for the check of another one. It ends with Close.
func (l *PrivateListener) acceptAll() {
	checks := make(chan struct{}, maxChecks)
	for !errors.Is(l.accept(checks), net.ErrClosed) {
	}
}

// accept accepts a connection and starts its check, for which it waits for a place in checks. An error is a result.
func (l *PrivateListener) accept(checks chan struct{}) error {
	conn, err := l.Listener.Accept()
	if err != nil {
		l.deliver(acceptResult{err: err})
		return err
	}
	checks <- struct{}{}
	go func() { // ends with the check, and then with Accept or Close
		defer func() { <-checks }()
		if err := l.check(conn); err != nil {
			l.log.Warn("a connection was rejected", "error", err)
			_ = conn.Close()
		} else if !l.deliver(acceptResult{conn: conn}) {
			_ = conn.Close()
		}
	}()
	return nil
}

// deliver hands a result to Accept. It returns false after Close.
func (l *PrivateListener) deliver(r acceptResult) bool {
	select {
	case l.results <- r:
		return true
	case <-l.closing:
		return false
	}
}

// Endpoint returns how a client finds the listener, until Close.
func (l *PrivateListener) Endpoint() Endpoint { return l.endpoint }

// Close ends the listener and removes its socket, once: later another process may listen there.
func (l *PrivateListener) Close() error {
	l.once.Do(func() {
		close(l.closing)
		l.release() // while the listener is open, no other socket has its inode
		if err := l.Listener.Close(); !errors.Is(err, net.ErrClosed) {
			l.closed = err
		}
		if l.folder != "" {
			l.closed = errors.Join(l.closed, os.RemoveAll(l.folder))
		}
	})
	return l.closed
}

// IsServed reports whether a process accepts connections on the socket of ListenAt.
func IsServed(path string) bool { return ask.Probe(path) == nil }
