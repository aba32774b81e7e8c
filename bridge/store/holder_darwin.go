package store

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func hostname() (string, error) { return os.Hostname() }

func processStart(pid int) (string, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EIO) { // EIO: no such process
		return "", errNoProcess
	}
	if err != nil {
		return "", err
	}
	const zombie = 5
	if info.Proc.P_stat == zombie {
		return "", errNoProcess
	}
	return fmt.Sprintf("%d.%06d", info.Proc.P_starttime.Sec, info.Proc.P_starttime.Usec), nil
}
