package child

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// Detach makes a program, which is not started yet, go on when this process and its console end.
func Detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}
