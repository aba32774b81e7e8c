//go:build linux

package main

import (
	"os"
	"syscall"
)

// transport is the kind of the client's connection.
type transport string

const (
	pipes   transport = "pipes"
	sockets transport = "socketpairs" // as Node uses for child processes
)

// pair is a one-way connection: r reads the bytes written to w. Both block.
func (t transport) pair() (r, w *os.File, err error) {
	var fds [2]int
	if t == sockets {
		fds, err = syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	} else {
		err = syscall.Pipe2(fds[:], syscall.O_CLOEXEC)
	}
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), string(t)), os.NewFile(uintptr(fds[1]), string(t)), nil
}
