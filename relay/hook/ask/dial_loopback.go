//go:build windows || loopback

package ask

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"time"
)

func isSeparator(c byte) bool { return os.IsPathSeparator(c) }

// dial connects to the address in the file at the socket's path.
func dial(socket string) (io.ReadWriteCloser, error) {
	if err := CheckOwner(socket, 0); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(socket)
	if err != nil {
		return nil, err
	}
	address, err := netip.ParseAddrPort(string(text))
	if err != nil || !address.Addr().IsLoopback() {
		return nil, errors.New(socket + " has no address of this machine")
	}
	return (&net.Dialer{Timeout: time.Second}).Dial("tcp", address.String())
}

// CheckSocketPath returns nil: the path is that of a file.
func CheckSocketPath(string) error { return nil }
