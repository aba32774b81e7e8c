//go:build !linux || portable

package child

import "os/exec"

// Start starts cmd.
func Start(cmd *exec.Cmd) error { return cmd.Start() }

// Wait waits for a command of Start.
func Wait(cmd *exec.Cmd) error { return cmd.Wait() }
