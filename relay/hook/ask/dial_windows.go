package ask

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"time"
)

func separator(c byte) bool { return os.IsPathSeparator(c) }

// dial reaches a server by the address that the file in the socket's place holds.
func dial(socket string) (io.ReadWriteCloser, error) {
	if err := OwnPath(socket, 0); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(socket)
	if err != nil {
		return nil, err
	}
	address, err := netip.ParseAddrPort(string(text))
	if err != nil || !address.Addr().IsLoopback() {
		return nil, errors.New(socket + " does not hold an address of this machine")
	}
	return (&net.Dialer{Timeout: time.Second}).Dial("tcp", address.String())
}
