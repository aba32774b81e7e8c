package ask

import (
	"errors"
	"os"
	"strconv"
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

// CheckPeerOutsideSandbox returns an error if the peer runs in another PID namespace, as
// every command in Codex's sandbox does (measured with Codex 0.169).
func CheckPeerOutsideSandbox(fd int) error {
	_, pid, err := peer(fd)
	if err != nil {
		return err
	}
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return err
	}
	theirs, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
	if err != nil {
		return err
	}
	if own != theirs {
		return errors.New("process " + strconv.Itoa(pid) + " runs in a sandbox")
	}
	return nil
}
