//go:build unix

package hook

import (
	"errors"
	"net"
	"os"

	"codex-bridge/relay/hook/ask"
)

// listen makes the socket. The folder is closed already, so that nobody comes between
// its making and its mode.
func listen(socket string) (net.Listener, error) {
	var l *net.UnixListener
	err := ask.Named(socket, func(name string) (err error) {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // its name may have been a passing one
	if err := os.Chmod(socket, 0o600); err != nil {
		_ = l.Close() // the first error says it
		return nil, err
	}
	return l, nil
}

// ownPeer returns an error if the other end of a connection is not a process of the user's
// own outside of every sandbox.
func ownPeer(conn net.Conn) error {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return errors.New("it is no socket")
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var foreign error
	if err := raw.Control(func(fd uintptr) {
		if foreign = ask.OwnPeer(int(fd)); foreign == nil {
			foreign = ask.Outside(int(fd))
		}
	}); err != nil {
		return err
	}
	return foreign
}
