//go:build linux || darwin

package hook

import (
	"errors"
	"net"
)

// peer is the user of the process at the other end of a socket.
func peer(conn net.Conn) (uid int, err error) {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, errors.New("it is no socket")
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { uid, failed = user(int(fd)) }); err != nil {
		return 0, err
	}
	return uid, failed
}
