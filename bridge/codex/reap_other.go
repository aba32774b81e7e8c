//go:build !linux

package codex

import "os/exec"

// Orphans are not handed to us here.
func startOwn(cmd *exec.Cmd) error { return cmd.Start() }
func waitOwn(cmd *exec.Cmd) error  { return cmd.Wait() }
