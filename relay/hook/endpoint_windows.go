package hook

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"
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

func dial(socket string, deadline time.Time) (net.Conn, error) {
	if err := ownPath(socket, 0); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(socket)
	if err != nil {
		return nil, err
	}
	address, err := netip.ParseAddrPort(string(text))
	if err != nil || !address.Addr().IsLoopback() {
		return nil, fmt.Errorf("%s does not hold an address of this machine", socket)
	}
	return (&net.Dialer{Deadline: deadline}).Dial("tcp", address.String())
}

// ownPeer: the token is asked for, and the answer to it.
func ownPeer(net.Conn) error { return nil }
