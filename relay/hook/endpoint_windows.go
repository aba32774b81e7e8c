package hook

import (
	"errors"
	"net"
	"os"
)

// listen takes a port of the loopback interface, and writes its address where the
// socket would be. Every user can connect to it, so that all rests on the token.
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

// ownPeer: the token is asked for, and the answer to it.
func ownPeer(net.Conn) error { return nil }
