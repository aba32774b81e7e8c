//go:build !loopback

package ask

import (
	"os"
	"syscall"
)

// peer returns the user and the process id at the other end of a socket. The id is 0 for a
// process of an outer PID namespace.
func peer(fd int) (uid, pid int, err error) {
	cred, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil {
		return 0, 0, os.NewSyscallError("getsockopt", err)
	}
	return int(cred.Uid), int(cred.Pid), nil
}
