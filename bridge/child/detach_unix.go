//go:build unix

package child

import (
	"os/exec"
	"syscall"
)

// Detach makes a program, which is not started yet, go on when this process and its terminal end.
func Detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
