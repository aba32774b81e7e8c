package main

import (
	"fmt"
	"slices"
	"strings"

	"codex-bridge/bridge/config"
)

// unsafeFlags switch codex's own safety off, for every thread (codex 0.169.0
// --help; --yolo is the short name of the first).
var unsafeFlags = []string{
	"--dangerously-bypass-approvals-and-sandbox", "--yolo", "--dangerously-bypass-hook-trust",
}

// refusedFlag is an argument that policy does not let reach codex.
type refusedFlag string

func (f refusedFlag) Error() string {
	return fmt.Sprintf("%s switches codex's safety off, and policy.mode is enforce; leave it out", string(f))
}

// checkFlags refuses what no policy can be held with.
func checkFlags(cfg *config.Config, args []string) error {
	if cfg.Policy.Mode != config.Enforce {
		return nil
	}
	for _, arg := range args {
		if name, _, _ := strings.Cut(arg, "="); slices.Contains(unsafeFlags, name) {
			return refusedFlag(arg)
		}
	}
	return nil
}
