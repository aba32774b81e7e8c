package codex

import (
	"os"
	"os/exec"
	"runtime"

	"codex-bridge.example/bridge/child"
)

// RunInForeground runs Codex on this process's terminal, and returns its exit status. Signals from
// stop are passed on to it, but not those that the terminal sends to both.
func RunInForeground(c Command, stop <-chan os.Signal) (*os.ProcessState, error) {
	env, err := childEnviron(c.Env)
	if err != nil {
		return nil, err
	}
	if err := CheckArgs(c.Path, c.Args); err != nil {
		return nil, err
	}
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdin, os.Stdout, os.Stderr, env
	started := endWithParent(cmd)
	runtime.LockOSThread() // Linux sends the death signal when this thread ends
	defer runtime.UnlockOSThread()
	if err := child.Start(cmd); err != nil {
		return nil, &FindError{c.Path + " can't be run: " + err.Error(), installHint}
	}
	ended := started()
	done := make(chan struct{})
	go func() { // ends with Codex
		_ = child.Wait(cmd) // the result is in cmd.ProcessState
		ended()
		close(done)
	}()
	for {
		select {
		case <-done:
			endSandboxes()
			return cmd.ProcessState, nil
		case sig := <-stop:
			if !isFromTerminal(sig) {
				_ = cmd.Process.Signal(sig) // Codex may have exited
			}
		}
	}
}
