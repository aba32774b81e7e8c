package codex

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"time"

	"codex-bridge.example/bridge/child"
	"codex-bridge.example/bridge/supervise"
)

// Child is a running Codex: in its own process group, with pipes to stdin and stdout, and the
// bridge's stderr. Its methods may be called concurrently.
type Child struct {
	stdin  *os.File // writes to Codex
	stdout *os.File // reads from Codex
	cmd    *exec.Cmd
	tree   tree
	done   chan struct{} // closed when Codex has exited
}

// Command describes how to start Codex.
type Command struct {
	Path string
	Args []string
	Env  []string
	// Supervisor decides the program starts of a Codex that serves clients; nil: none is decided.
	Supervisor *supervise.Supervisor
}

// start starts a command that has been prepared.
func (c Command) start(cmd *exec.Cmd) error {
	if c.Supervisor == nil {
		return child.Start(cmd)
	}
	err := c.Supervisor.Start(cmd, child.Start)
	if err != nil && cmd.Process != nil {
		_ = child.Wait(cmd) // it has ended, since it is not Codex yet
	}
	return err
}

// runError returns the error for a Codex that can't be started.
func (c Command) runError(err error) error {
	if unsupported := (*supervise.UnsupportedError)(nil); errors.As(err, &unsupported) {
		return unsupported
	}
	return &FindError{c.Path + " can't be run: " + err.Error(), installHint}
}

// Start starts Codex. On Linux the calling goroutine must stay locked to its thread until Codex
// exits: the kernel sends Codex the death signal when that thread ends.
func Start(c Command) (*Child, error) { return start(c, os.Stderr) }

func start(c Command, stderr *os.File) (*Child, error) {
	env, err := childEnviron(c.Env)
	if err != nil {
		return nil, err
	}
	if err := CheckArgs(c.Path, c.Args); err != nil {
		return nil, err
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := stdoutPipe()
	if err != nil {
		return nil, errors.Join(err, inR.Close(), inW.Close())
	}
	GrowPipe(outR)
	GrowPipe(inW)
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = inR, outW, stderr, env
	started := &Child{stdin: inW, stdout: outR, cmd: cmd, done: make(chan struct{})}
	started.tree.prepare(cmd)
	err = c.start(cmd)
	inR.Close()
	outW.Close()
	if err != nil {
		inW.Close()
		outR.Close()
		started.tree.ended()
		return nil, c.runError(err)
	}
	started.tree.started(cmd)
	go func() {
		_ = child.Wait(cmd) // the result is in cmd.ProcessState
		started.tree.ended()
		close(started.done)
	}()
	return started, nil
}

// Streams returns the pipes to Codex's stdin and from its stdout.
func (c *Child) Streams() (in io.WriteCloser, out io.ReadCloser) { return c.stdin, c.stdout }

// PID returns Codex's process id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Done returns a channel that is closed when Codex has exited.
func (c *Child) Done() <-chan struct{} { return c.done }

// Signal sends a signal to Codex alone. (npm's codex is a Node script that passes signals on to
// the program.)
func (c *Child) Signal(sig os.Signal) {
	_ = c.cmd.Process.Signal(sig) // Codex may have exited
}

// Stop ends Codex. It closes stdin, sends SIGTERM after grace, and kills Codex and its descendants
// after another grace. Until Codex has started, which takes seconds on a busy machine, SIGTERM would
// kill it before it writes its last responses.
func (c *Child) Stop(grace time.Duration) {
	c.stdin.Close()
	if c.ExitsWithin(grace) {
		return
	}
	c.Signal(terminate)
	if c.ExitsWithin(grace) {
		return
	}
	c.Kill()
}

// ExitsWithin waits up to d for Codex to exit, and reports whether it has.
func (c *Child) ExitsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.done:
		return true
	case <-timer.C:
		return false
	}
}

// Kill kills Codex and its descendants, and waits for Codex to exit.
func (c *Child) Kill() {
	c.tree.kill(c.cmd)
	<-c.done
}

// ExitState returns how Codex exited; call it after Done. If a signal killed Codex, ExitState
// kills its descendants: at the end of its input and on SIGTERM Codex ends its commands itself,
// but after SIGKILL they would run on (measured). Sandboxes that hang are killed in each case.
func (c *Child) ExitState() *os.ProcessState {
	state := c.cmd.ProcessState
	if !state.Exited() {
		c.tree.killOrphans(c.cmd)
	}
	endSandboxes()
	return state
}
