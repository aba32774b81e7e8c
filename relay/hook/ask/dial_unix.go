//go:build unix && !loopback

package ask

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// maxSocketPath is the longest socket path in bytes that every system accepts.
const maxSocketPath = 103

func isSeparator(c byte) bool { return c == '/' }

// dial connects to a server. It checks that the socket and its folder are the user's own,
// and that the server is the bridge.
func dial(socket string) (io.ReadWriteCloser, error) {
	folder := dirOf(socket)
	if len(folder) > 1 {
		folder = folder[:len(folder)-1] // with a trailing separator, Lstat would follow a link
	}
	if err := CheckOwner(folder, fs.ModeDir); err != nil {
		return nil, err
	}
	if err := CheckOwner(socket, fs.ModeSocket); err != nil {
		return nil, err
	}
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if err = WithShortPath(socket, func(name string) error { return connect(fd, name) }); err == nil {
		if err = CheckPeerUser(fd); err != nil {
			err = errors.New("another user listens at the socket " + socket + ": " + err.Error())
		} else {
			err = checkPeerIsBridge(fd, socket)
		}
	}
	if err != nil {
		_ = syscall.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), socket), nil
}

// connect returns EAGAIN if the server's queue is full. Reads and writes block afterwards,
// which is fine: the caller has a deadline of its own.
func connect(fd int, name string) error {
	err := syscall.SetNonblock(fd, true)
	if err == nil {
		err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: name})
	}
	if err == nil {
		err = syscall.SetNonblock(fd, false)
	}
	return os.NewSyscallError("connect", err)
}

// CheckPeerUser returns an error if the peer of a socket is a process of another user.
func CheckPeerUser(fd int) error {
	uid, _, err := peer(fd)
	if err == nil && uid != os.Geteuid() {
		err = errors.New("the process belongs to user " + strconv.Itoa(uid) + ", not " + strconv.Itoa(os.Geteuid()))
	}
	return err
}

// checkPeerIsBridge returns an error if the process that listens at socket does not have
// the id that ends the name of the socket's folder. Codex gets that name from the bridge,
// on the hook's command line. Another process can take over the folder, but not the
// bridge's id. A folder without an id is not checked.
func checkPeerIsBridge(fd int, socket string) error {
	folder := dirOf(socket)
	from, to := len(folder)-1, len(folder)-1
	for from > 0 && folder[from-1] >= '0' && folder[from-1] <= '9' {
		from--
	}
	if from <= 0 || from == to || folder[from-1] != PIDSeparator {
		return nil
	}
	_, pid, err := peer(fd)
	if err == nil && strconv.Itoa(pid) != folder[from:to] {
		err = errors.New("process " + strconv.Itoa(pid) + " listens at " + socket + ", which is not the bridge")
	}
	return err
}

// WithShortPath calls do with a path of the socket that is at most maxSocketPath long.
func WithShortPath(socket string, do func(string) error) error {
	path, release, err := ShortPath(socket)
	if err != nil {
		return err
	}
	defer release()
	return do(path)
}

// ShortPath returns a path of the socket that is at most maxSocketPath long, for any process of this
// user, until the caller calls release.
func ShortPath(socket string) (path string, release func(), err error) {
	if len(socket) <= maxSocketPath {
		return socket, func() {}, nil
	}
	return descriptorPath(socket)
}
