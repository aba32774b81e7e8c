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

// tree is Codex with its process group. There is no death signal; if the bridge is killed, Codex
// sees the end of its input and exits.
type tree struct{}

func (*tree) prepare(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func (*tree) started(*exec.Cmd) {}

// endWithParent does nothing: this system has no death signal. The user ends a Codex on the terminal
// whose bridge was killed.
func endWithParent(*exec.Cmd) {}

// kill kills Codex with its group, and while Codex runs, all its descendants. Codex starts each
// command in a session of its own; after Codex was killed, they can't be found.
func (*tree) kill(cmd *exec.Cmd) { child.KillTree(cmd.Process.Pid) }
