//go:build unix

package ask

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// maxPath is the most that every system takes for the path of a socket; longer ones go
// by another name of their folder, where the system has one.
const maxPath = 103

func separator(c byte) bool { return c == '/' }

// dial reaches a server. What is no socket of the user's own, in a folder of the
// user's own, is left alone.
func dial(socket string) (io.ReadWriteCloser, error) {
	folder := folderOf(socket)
	if len(folder) > 1 {
		folder = folder[:len(folder)-1] // with its last separator a link would be followed
	}
	if err := OwnPath(folder, fs.ModeDir); err != nil {
		return nil, err
	}
	if err := OwnPath(socket, fs.ModeSocket); err != nil {
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
	if err = Named(socket, func(name string) error { return connect(fd, name) }); err == nil {
		if err = OwnPeer(fd); err != nil {
			err = errors.New("another user listens at the socket " + socket + ": " + err.Error())
		} else {
			err = serves(fd, socket)
		}
	}
	if err != nil {
		_ = syscall.Close(fd) // the first error says it
		return nil, err
	}
	return os.NewFile(uintptr(fd), socket), nil
}

// connect does not wait for a server that has too many before us: EAGAIN, then. What is
// read and written waits: there is one connection, and who waits for it has a clock.
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

// OwnPeer tells whether the other end of a socket is a process of the user's own.
func OwnPeer(fd int) error {
	uid, _, err := peer(fd)
	if err == nil && uid != os.Geteuid() {
		err = errors.New("it is a process of the user " + strconv.Itoa(uid) + ", and this is " + strconv.Itoa(os.Geteuid()))
	}
	return err
}

// serves returns an error if the process that listens at socket is not the one whose id
// ends the name of the socket's folder. The name comes from the bridge, on the command
// line of the hook; another process can have the folder, but not the bridge's id. A folder
// without an id is not checked.
func serves(fd int, socket string) error {
	folder := folderOf(socket)
	from, to := len(folder)-1, len(folder)-1
	for from > 0 && folder[from-1] >= '0' && folder[from-1] <= '9' {
		from--
	}
	if from <= 0 || from == to || folder[from-1] != PidSign {
		return nil
	}
	_, pid, err := peer(fd)
	if err == nil && strconv.Itoa(pid) != folder[from:to] {
		err = errors.New("process " + strconv.Itoa(pid) + " listens at " + socket + ", which is not the bridge")
	}
	return err
}

// Named calls do with a name of the socket that is short enough.
func Named(socket string, do func(string) error) error {
	if len(socket) <= maxPath {
		return do(socket)
	}
	return shortened(socket, do)
}
