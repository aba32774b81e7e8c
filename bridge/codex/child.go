package codex

import (
	"errors"
	"os"
	"os/exec"
	"time"

	"codex-bridge/bridge/child"
)

// Child is the real codex as a child process: in a group of its own, with pipes
// of ours for stdin and stdout, and our own stderr.
type Child struct {
	Stdin  *os.File // codex reads from it
	Stdout *os.File // codex writes to it

	cmd  *exec.Cmd
	tree tree
	done chan struct{} // closed when codex has ended
}

// Command says how to start codex.
type Command struct {
	Path string
	Args []string
	Env  []string
}

// Start starts codex. On Linux it must be called from a goroutine that stays
// locked to its thread for as long as codex is to run: the kernel sends the
// death signal when that thread ends.
func Start(c Command) (*Child, error) {
	env, err := childEnviron(c.Env)
	if err != nil {
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
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = inR, outW, os.Stderr, env
	started := &Child{Stdin: inW, Stdout: outR, cmd: cmd, done: make(chan struct{})}
	started.tree.prepare(cmd)
	err = child.Start(cmd)
	inR.Close()
	outW.Close()
	if err != nil {
		inW.Close()
		outR.Close()
		return nil, &FindError{c.Path + " can't be run: " + err.Error(), installHint}
	}
	started.tree.started(cmd)
	go func() {
		_ = child.Wait(cmd) // how it ended is in cmd.ProcessState
		close(started.done)
	}()
	return started, nil
}

// PID is codex's process id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Done is closed when codex has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Signal sends a signal to codex alone: what it has started is its own business.
// (npm's codex is a Node script that passes signals on to the program.)
func (c *Child) Signal(sig os.Signal) {
	_ = c.cmd.Process.Signal(sig) // it may have ended
}

// Stop ends codex within grace, politely first: end of input, a third of grace
// later SIGTERM, and at the end of grace SIGKILL for it and all that it started.
func (c *Child) Stop(grace time.Duration) {
	c.Stdin.Close()
	if c.ExitsWithin(grace / 3) {
		return
	}
	c.Signal(terminate)
	if c.ExitsWithin(grace - grace/3) {
		return
	}
	c.Kill()
}

// EndsWithin waits for codex to end, for d at most, and tells whether it did.
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

// Kill ends codex and all that it started, at once.
func (c *Child) Kill() {
	c.tree.kill(c.cmd)
	<-c.done
}

// Ended is how codex ended; call it after Done. When it was killed, what it had
// started is killed too: on EOF and SIGTERM codex sees to that itself, after
// kill -9 its commands would run on (measured).
func (c *Child) ExitState() *os.ProcessState {
	state := c.cmd.ProcessState
	if !state.Exited() {
		c.tree.kill(c.cmd)
	}
	return state
}
