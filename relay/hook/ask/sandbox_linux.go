//go:build !portable && !loopback

package ask

import (
	"errors"
	"os"
	"strconv"
)

// CheckPeerOutsideSandbox returns an error if the peer runs in a sandbox.
func CheckPeerOutsideSandbox(fd int) error {
	_, pid, err := peer(fd)
	if err != nil {
		return err
	}
	return CheckOutsideSandbox(pid)
}

// CheckOutsideSandbox returns an error if a process runs in another PID namespace, as every command in
// Codex's sandbox does (measured with Codex 0.169).
func CheckOutsideSandbox(pid int) error {
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
