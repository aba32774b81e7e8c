//go:build unix

package hook

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"
)

// maxPath is the most that every system takes for the path of a socket; longer ones go
// by another name of their folder, where the system has one.
const maxPath = 103

// listen makes the socket. The folder is closed already, so that nobody comes between
// its making and its mode.
func listen(socket string) (net.Listener, error) {
	var l *net.UnixListener
	err := named(socket, func(name string) (err error) {
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

// dial reaches a server. What is no socket of the user's own, in a folder of the
// user's own, is left alone.
func dial(socket string, deadline time.Time) (net.Conn, error) {
	if err := ownPath(filepath.Dir(socket), fs.ModeDir); err != nil {
		return nil, err
	}
	if err := ownPath(socket, fs.ModeSocket); err != nil {
		return nil, err
	}
	var conn net.Conn
	err := named(socket, func(name string) (err error) {
		conn, err = (&net.Dialer{Deadline: deadline}).Dial("unix", name)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := ownPeer(conn); err != nil {
		conn.Close()
		return nil, fmt.Errorf("who listens at %s is not the user's: %w", socket, err)
	}
	return conn, nil
}

// ownPeer tells whether the other end of a connection is a process of the user's own.
func ownPeer(conn net.Conn) error {
	uid, err := peer(conn)
	if err == nil && uid != os.Geteuid() {
		err = fmt.Errorf("it is a process of the user %d, and this is %d", uid, os.Geteuid())
	}
	return err
}

// named calls do with a name of the socket that is short enough.
func named(socket string, do func(string) error) error {
	if len(socket) <= maxPath {
		return do(socket)
	}
	return shortened(socket, do)
}
