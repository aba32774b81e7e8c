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
	once     sync.Once
	closed   error
}

// Endpoint is how Codex's terminal interface finds a listener.
type Endpoint struct {
	Address string // for --remote
	Token   string // "" on Linux, where the listener sees which process connects
}

// privateHint is the hint for a folder that others can enter.
const privateHint = "set its mode to 0700, or name another folder"

// Accept returns the next connection. It closes those that fail the check.
func (l *PrivateListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if err := l.check(conn); err != nil {
			l.log.Warn("a connection was rejected", "error", err)
			_ = conn.Close()
			continue
		}
		return conn, nil
	}
}

// Endpoint returns how a client finds the listener, until Close.
func (l *PrivateListener) Endpoint() Endpoint { return l.endpoint }

// Close ends the listener and removes its socket, once: later another process may listen there.
func (l *PrivateListener) Close() error {
	l.once.Do(func() {
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
