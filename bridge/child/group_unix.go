//go:build unix && (!linux || portable)

package child

import (
	"os/exec"
	"syscall"
)

// group is a child with its descendants: its process group, and until the child ends, those that
// have left the group.
type group struct{}

func (*group) prepare(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func (*group) started(*exec.Cmd) {}

// prepareSentry must be called before the child is started.
func (*group) prepareSentry() { ensureSentry() }

// watch has the sentry kill the group if the bridge is killed.
func (*group) watch(cmd *exec.Cmd) { watch(cmd.Process.Pid, "") }

// wait waits for the child to end, and does not touch its descendants.
func (*group) wait(cmd *exec.Cmd) error {
	err := Wait(cmd)
	unwatch(cmd.Process.Pid)
	return err
}

func (*group) kill(cmd *exec.Cmd) {
	KillTree(cmd.Process.Pid)
	_ = cmd.Process.Kill()
}

// waitAndKill waits for the child to end and kills its group.
func (*group) waitAndKill(cmd *exec.Cmd) {
	_ = Wait(cmd)
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	unwatch(cmd.Process.Pid)
}

// mark returns env: orphans are not found by their environment here.
func (*group) mark(env []string) []string { return env }

// waitSettleAndKill waits for the child to end, calls settle, and kills its group.
func (*group) waitSettleAndKill(cmd *exec.Cmd, settle func()) error {
	err := Wait(cmd)
	settle()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	unwatch(cmd.Process.Pid)
	return err
}

// terminate sends SIGTERM to the group. It reports whether the system can do that.
func (*group) terminate(cmd *exec.Cmd) bool {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	return true
}

func (*group) release() {}
