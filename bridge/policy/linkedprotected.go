package policy

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"syscall"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// checkLinks refuses a thread or turn that may write, with a profile's entries in the writable folders, if a
// protected path or a folder above it is a link. field is the request's field for the error.
//
// Measured with Codex 0.169: it can't mount anything over a link, so no command runs. And a command
// could replace the link, which is in a writable folder.
func (c *request) checkLinks(field string, entries map[string]any, folders []string) {
	if reason := linkedProtected(c.st, entries, folders); reason != "" {
		c.refuse(rpc.CodeRefused, field, RuleProtected, reason, LinkedHint)
	}
}

// LinkedHint says what to do about [Policy.LinkedProtected].
const LinkedHint = "replace it by the folder or file itself, or use the sandbox read-only"

// LinkedProtected returns why no thread or turn in folder may write: a protected path, or a folder above it, is
// a link. "" if none is. st must have no thread.
func (p *Policy) LinkedProtected(st State, folder string) string {
	if !p.letsWrite() || !IsUsableWorkspace(st, folder) {
		return ""
	}
	return linkedProtected(st, p.ProfileEntries(st, []string{folder}, nil), []string{folder})
}

func linkedProtected(st State, entries map[string]any, folders []string) string {
	relative, _ := entries[workspaceRootsKey].(map[string]string)
	for _, at := range slices.Sorted(maps.Keys(relative)) { // a folder before what is in it
		for _, folder := range folders {
			path := filepath.Join(folder, filepath.FromSlash(at))
			to, err := st.Follow(path)
			reason := display.Quote(path) + " is a link to " + display.Quote(to)
			switch {
			case errors.Is(err, syscall.ENOTDIR):
				continue // a file above it, which Codex protects itself
			case err != nil:
				reason = display.Quote(path) + " can't be resolved: " + err.Error()
			case rules.FoldCase(to) == rules.FoldCase(path):
				continue
			}
			return reason + ", and Codex can't keep commands from replacing it"
		}
	}
	return ""
}
