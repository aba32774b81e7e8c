package policy

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/rpc"
)

// Characters of a path for which Codex does not enforce a profile's entry.
//
// Measured with Codex 0.169: it takes a path with one of patternMarks for a pattern. With an entry
// "read" or "write" it then opens no thread, also if the character is escaped, and an entry "deny"
// does not hide that path. It drops the characters of droppedMarks, so that commands can write what
// has an entry "read". The workspace above an entry of :workspace_roots may have all of them.
const (
	patternMarks = "*?[]"
	droppedMarks = "\t\n\r"
)

// checkEntries refuses the request if Codex would not enforce one of the bridge's entries of a
// profile, or one for a writable root.
func (c *request) checkEntries(entries map[string]any, roots []string) {
	if reason := unenforceable(entries, roots); reason != "" {
		c.refuse(rpc.CodeRefused, "params.cwd", RuleProtected, reason, UnenforceableHint)
	}
}

// UnenforceableHint says what to do about [Policy.Unenforceable].
const UnenforceableHint = "rename that folder or file, or open the thread in another folder"

// Unenforceable returns why a thread can't open in folder: its name, or that of a protected or hidden file,
// keeps Codex from enforcing the profile. "" if nothing does. st must have no thread.
func (p *Policy) Unenforceable(st State, folder string) string {
	if !p.letsWrite() || !IsUsableWorkspace(st, folder) {
		return unenforceable(hide(map[string]any{}, st.Secrets), nil)
	}
	return unenforceable(p.ProfileEntries(st, []string{folder}, nil), nil)
}

func unenforceable(entries map[string]any, roots []string) string {
	paths := slices.Clone(roots)
	for at, access := range entries {
		paths = append(paths, at)
		if below, ok := access.(map[string]string); ok {
			paths = slices.AppendSeq(paths, maps.Keys(below))
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		at := strings.IndexAny(path, patternMarks+droppedMarks)
		if at < 0 {
			continue
		}
		how := "takes " + display.Quote(path[at:at+1]) + " for a pattern"
		if strings.ContainsAny(path[at:at+1], droppedMarks) {
			how = "drops the tab or line break"
		}
		end := len(path)
		if i := strings.IndexByte(path[at:], filepath.Separator); i >= 0 {
			end = at + i
		}
		return "Codex can't control the access of commands to " + display.Quote(path) + ", because it " + how + " in the name of " + display.Quote(path[:end])
	}
	return ""
}
