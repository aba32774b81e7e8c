package ask

import (
	"os"
	"syscall"
)

// peer is the user of the process at the other end of a socket.
func peer(fd int) (uid int, err error) {
	cred, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil {
		return 0, os.NewSyscallError("getsockopt", err)
	}
	return int(cred.Uid), nil
}
