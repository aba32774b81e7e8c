//go:build unix && !loopback

package hook

import (
	"errors"
	"net"
	"os"

	"codex-bridge.example/relay/hook/ask"
)

// listen creates the socket. The folder is already private, so no other user can connect
// before the mode is set.
func listen(socket string) (net.Listener, error) {
	var l *net.UnixListener
	err := ask.WithShortPath(socket, func(name string) (err error) {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // the listener may know it by a temporary name
	if err := os.Chmod(socket, 0o600); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// checkPeer returns an error unless the peer is a process of this user that runs outside
// every sandbox.
func checkPeer(conn net.Conn) error {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return errors.New("the connection is not a Unix socket")
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var mismatch error
	if err := raw.Control(func(fd uintptr) {
		if mismatch = ask.CheckPeerUser(int(fd)); mismatch == nil {
			mismatch = ask.CheckPeerOutsideSandbox(int(fd))
		}
	}); err != nil {
		return err
	}
	return mismatch
}
