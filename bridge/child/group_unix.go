//go:build unix && !linux

package child

import (
	"os/exec"
	"syscall"
)

// group is a child and what it started: its process group.
type group struct{}

func (*group) prepare(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func (*group) started(*exec.Cmd) {}

func (*group) kill(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Process.Kill()
}

func (*group) release() {}
