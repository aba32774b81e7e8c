//go:build unix && !linux

package codex

import (
	"os"
	"os/exec"
	"syscall"
)

var terminate os.Signal = syscall.SIGTERM

// Widen makes a pipe larger, where the system can.
func GrowPipe(*os.File) {}

func stdoutPipe() (r, w *os.File, err error) { return os.Pipe() }

// tree is codex and what it started: its process group. There is no death
// signal here; when we are killed, codex sees the end of its input and ends.
type tree struct{}

func (*tree) prepare(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func (*tree) started(*exec.Cmd) {}

func (*tree) kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
