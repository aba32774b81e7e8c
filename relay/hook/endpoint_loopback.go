//go:build windows || loopback

package hook

import (
	"errors"
	"net"
	"os"
)

// listen opens a port on the loopback interface and writes its address to the socket's
// path. Any user can connect to it, so only the token protects the server.
func listen(socket string) (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(socket, []byte(l.Addr().String()), 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// checkPeer accepts every peer: the token identifies both sides.
func checkPeer(net.Conn) error { return nil }
