package child

import (
	"os/exec"
	"syscall"
)

// group is a child and what it started: its process group, and on Linux also those
// that have left the group.
type group struct{}

func (*group) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func (*group) started(*exec.Cmd) {}

func (*group) kill(cmd *exec.Cmd) {
	strays := Descendants(cmd.Process.Pid)
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Process.Kill()
	for _, pid := range strays {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func (*group) release() {}
