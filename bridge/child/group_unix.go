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

// expected is called before the child is started that will be watched.
func (*group) prepareSentry() { ensureSentry() }

// watched has the group end with us even when we are killed.
func (*group) watch(cmd *exec.Cmd) { watch(cmd.Process.Pid, "") }

// ended waits for the child's end, and lets what it left be.
func (*group) wait(cmd *exec.Cmd) error {
	err := Wait(cmd)
	unwatch(cmd.Process.Pid)
	return err
}

func (*group) kill(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Process.Kill()
}

// wait waits for the child's end and kills what it left in its group.
func (*group) waitAndKill(cmd *exec.Cmd) {
	_ = Wait(cmd)
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	unwatch(cmd.Process.Pid)
}

// mark adds to a child's environment what its orphans are known by: here, nothing.
func (*group) mark(env []string) []string { return env }

// alone waits for the child's end, settles, and kills what it left in its group.
func (*group) waitSettleAndKill(cmd *exec.Cmd, settle func()) error {
	err := Wait(cmd)
	settle()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	unwatch(cmd.Process.Pid)
	return err
}

// terminate asks the group to end; it tells whether that can be done here.
func (*group) terminate(cmd *exec.Cmd) bool {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	return true
}

func (*group) release() {}

// strays are what has left the group; here it is not known.
type strays struct{}

func (*group) strays(*exec.Cmd, <-chan struct{}) strays { return strays{} }

func (strays) kill() {}
