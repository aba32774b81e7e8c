//go:build !linux

package child

import "os/exec"

// Start starts cmd. Orphans are not handed to us here.
func Start(cmd *exec.Cmd) error { return cmd.Start() }

// Wait waits for a command that Start has started.
func Wait(cmd *exec.Cmd) error { return cmd.Wait() }
