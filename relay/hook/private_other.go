//go:build !linux || portable || loopback

package hook

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
)

// ListenPrivate listens on the loopback interface, where a client needs the token. A socket would not
// do: on macOS the bridge can't see whether a peer is sandboxed, a sandboxed command with network can
// connect to a socket, and Codex sends no token to one (measured with Codex 0.169). folder is not
// used. The caller must call Close.
func ListenPrivate(_ string, log *slog.Logger) (*PrivateListener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	endpoint := Endpoint{Address: "ws://" + l.Addr().String(), Token: rand.Text()}
	return newPrivateListener(l, endpoint, func(net.Conn) error { return nil }, func() {}, log), nil
}

// ListenAt returns an error: on this system the bridge can't see whether a peer is sandboxed.
func ListenAt(string, *slog.Logger) (*PrivateListener, error) {
	return nil, errors.New("codex-bridge serves unix:// only on Linux; use ws://127.0.0.1:PORT, which needs a token")
}

// TakeOver returns an error, as ListenAt.
func TakeOver(path, _ string, _ func() error, log *slog.Logger) (*PrivateListener, <-chan struct{}, error) {
	_, err := ListenAt(path, log)
	return nil, nil, err
}

// IsLocked returns false: there is no ListenAt.
func IsLocked(string) bool { return false }

// DialPrivate returns an error, as ListenAt.
func DialPrivate(context.Context, string) (net.Conn, error) {
	return nil, errors.New("codex-bridge serves unix:// only on Linux")
}
