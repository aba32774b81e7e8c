package codex

import (
	"os"
	"os/exec"

	"codex-bridge/bridge/child"
)

// terminate: Windows has no polite signal; the end of input was it.
var terminate = os.Kill

// Widen makes a pipe larger, where the system can.
func GrowPipe(*os.File) {}

func stdoutPipe() (r, w *os.File, err error) { return os.Pipe() }

// tree is codex and what it started: a job that ends with us.
type tree struct{ job child.Job }

func (t *tree) prepare(cmd *exec.Cmd) { t.job.Prepare(cmd) }
func (t *tree) started(cmd *exec.Cmd) { t.job.Started(cmd) }
func (t *tree) kill(cmd *exec.Cmd)    { t.job.Kill(cmd) }
