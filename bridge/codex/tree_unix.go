//go:build unix && (!linux || portable)

package codex

import (
	"os"
	"os/exec"
	"syscall"

	"codex-bridge.example/bridge/child"
)

var terminate os.Signal = syscall.SIGTERM

// GrowPipe does nothing on this system.
func GrowPipe(*os.File) {}

func stdoutPipe() (r, w *os.File, err error) { return os.Pipe() }

// tree is Codex with its process group. If the bridge is killed, Codex gets an end of input, and
// SIGTERM: a Codex that listens on a port does not read its input.
type tree struct{ unwatch func() }

func (t *tree) prepare(cmd *exec.Cmd) {
	child.PrepareEndWithParent()
	t.unwatch = func() {}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

func (t *tree) started(cmd *exec.Cmd) { t.unwatch = child.EndWithParent(cmd.Process.Pid) }

// ended must be called when Codex has ended, or has not started.
func (t *tree) ended() { t.unwatch() }

// endWithParent makes a Codex on the terminal end when the bridge is killed. The caller calls started
// after the start, and ended after the end.
func endWithParent(cmd *exec.Cmd) (started func() (ended func())) {
	child.PrepareEndWithParent()
	return func() func() { return child.EndWithParent(cmd.Process.Pid) }
}

// kill kills Codex with its group, and while Codex runs, all its descendants. Codex starts each
// command in a session of its own; after Codex was killed, they can't be found.
func (*tree) kill(cmd *exec.Cmd) { child.KillTree(cmd.Process.Pid) }

func (t *tree) killOrphans(cmd *exec.Cmd) { t.kill(cmd) }

func endSandboxes() {} // this build doesn't find them
