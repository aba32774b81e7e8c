package hook

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
)

// PrivateListener accepts connections of this user's processes that run outside every sandbox. It
// has a folder of its own, as a Server has.
type PrivateListener struct {
	net.Listener
	endpoint Endpoint
	release  func() // of the endpoint
	folder   string
	log      *slog.Logger
}

// Endpoint is how Codex's terminal interface finds a listener.
type Endpoint struct {
	Address string // for --remote
	Token   string // "" on Unix, where only this user's processes can connect
}

// ListenPrivate listens on a socket in a private folder below folder. The caller must call Close.
func ListenPrivate(folder string, log *slog.Logger) (*PrivateListener, error) {
	l, folder, err := listenIn(folder, func(string) error { return nil })
	if err != nil {
		return nil, err
	}
	e, release, err := endpoint(filepath.Join(folder, socketName))
	if err != nil {
		return nil, errors.Join(err, l.Close(), os.RemoveAll(folder))
	}
	return &PrivateListener{l, e, release, folder, log}, nil
}

// Accept returns the next connection. It closes those of other users and of sandboxed commands.
func (l *PrivateListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if err := checkPeer(conn); err != nil {
			l.log.Warn("a connection was rejected", "error", err)
			_ = conn.Close()
			continue
		}
		return conn, nil
	}
}

// Endpoint returns how a client finds the listener, until Close.
func (l *PrivateListener) Endpoint() Endpoint { return l.endpoint }

// Close ends the listener and removes its folder.
func (l *PrivateListener) Close() error {
	l.release()
	err := l.Listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(l.folder))
}
