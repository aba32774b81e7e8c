package store

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func hostname() (string, error) { return os.Hostname() }

func startOf(pid int) (string, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EIO) { // EIO: nothing was found
		return "", errGone
	}
	if err != nil {
		return "", err
	}
	const zombie = 5
	if info.Proc.P_stat == zombie {
		return "", errGone
	}
	return fmt.Sprintf("%d.%06d", info.Proc.P_starttime.Sec, info.Proc.P_starttime.Usec), nil
}
