package codex

import (
	"os"
	"os/exec"

	"codex-bridge.example/bridge/child"
)

// terminate is os.Kill: Windows has no SIGTERM.
var terminate = os.Kill

// GrowPipe does nothing on this system.
func GrowPipe(*os.File) {}

func stdoutPipe() (r, w *os.File, err error) { return os.Pipe() }

// tree is Codex with its descendants: a job that ends with the bridge.
type tree struct{ job child.Job }

func (t *tree) prepare(cmd *exec.Cmd) { t.job.Prepare(cmd) }
func (t *tree) started(cmd *exec.Cmd) { t.job.Started(cmd) }
func (*tree) ended()                  {}
func (t *tree) kill(cmd *exec.Cmd)    { t.job.Kill(cmd) }

func (t *tree) killOrphans(cmd *exec.Cmd) { t.kill(cmd) }

// endWithParent does nothing: the user ends a Codex on the terminal whose bridge was killed.
func endWithParent(*exec.Cmd) (started func() (ended func())) {
	return func() func() { return func() {} }
}

func endSandboxes() {} // there are none
