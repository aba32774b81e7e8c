package policy

import (
	"codex-bridge/bridge/rules"
	"codex-bridge/rpc"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// maxPatchPlaces bounds the places that patchLeaves looks at.
const maxPatchPlaces = 4096

// lineLeaves is why a shell command leaves the sandbox that names a file in policy.protected_paths to
// change it. The sandbox itself protects those at the top of a workspace alone.
func (p *Policy) lineLeaveReason(t ToolCall, st State) leaveReason {
	if t.Name != "Bash" || st.Thread == nil || st.EscalationRequested && st.Thread.Sandbox != fullAccess.String() {
		return leaveReason{} // Codex asks about what surely runs outside of the sandbox
	}
	text, _ := t.Input.Get("command").Text()
	dirs := rules.Dirs{Home: st.Home}
	dirs.Cwd, _ = st.canonical(t.Cwd)
	roots := p.allowed(st, st.Thread.Workspace)
	files, tooLong := rules.ChangedFiles(text, t.Shell, dirs)
	if tooLong && slices.ContainsFunc(p.protected, func(names []string) bool { return !isGoverning(names[0]) }) {
		return leaveReason{ruleProtected, "it is too long, or names too much, to tell what it changes in policy.protected_paths"}
	}
	for _, file := range files {
		if p.changesProtected(file.Path, file.Computed, roots, st) {
			return leaveReason{ruleProtected, "it changes " + file.Path + ", which is in one of policy.protected_paths"}
		}
		if at, err := st.canonical(file.Path); file.Whole && err == nil && p.changesProtected(at, false, roots, st) {
			return leaveReason{ruleProtected, "it changes " + at + ", which is in one of policy.protected_paths"}
		}
	}
	return p.linePatchLeaveReason(text, dirs.Cwd, roots, st)
}

// patchLeaves is why a patch in a shell command leaves the sandbox, in any folder that Codex could
// take from the command.
//
// Measured with Codex 0.169: its own parser reads cd where a shell does not, or reads another folder.
// A vertical tab or a continued line may be between cd and its word; of "sub$(true)" only sub counts,
// and a command may begin with assignments.
func (p *Policy) linePatchLeaveReason(command, cwd string, roots []string, st State) leaveReason {
	head := command[:max(strings.LastIndex(command, "*** Begin Patch"), 0)]
	if !holdsPatch(command) || !strings.Contains(head, "cd") {
		return leaveReason{}
	}
	words := strings.FieldsFunc(head, func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune("\\'\"`$(){};&|<>=", c) })
	files := rules.PatchedFiles(command)
	if len(words)*len(files) > maxPatchPlaces {
		return leaveReason{ruleProtected, "in which folder codex would apply the patch can't be told"}
	}
	for _, file := range files {
		for _, folder := range words {
			if !filepath.IsAbs(folder) {
				folder = filepath.Join(cwd, folder)
			}
			if at := st.canonicalIn(file, folder); p.changesProtected(at, false, roots, st) {
				return leaveReason{ruleProtected, "it changes " + at + ", which is in one of policy.protected_paths"}
			}
		}
	}
	return leaveReason{}
}

// reachesProtected reports whether path leads into a protected path of a root, which Codex does not
// mount read-only. A relative path is a part of one. A computed one counts for the protected paths that
// are not Codex's own: ordinary scripts remove "$tmp/.git".
func (p *Policy) changesProtected(path string, computed bool, roots []string, st State) bool {
	seen, top := path, "" // in its root, and in the workspace, at whose top Codex mounts them
	if filepath.IsAbs(path) {
		if path = filepath.Clean(path); !withinAny(roots, path) {
			return false
		}
		seen = relativeToRoot(roots, path)
		if Within(st.Thread.Workspace, path) {
			top = path[len(st.Thread.Workspace):]
		}
	}
	topNames := splitPath(top)
	return p.leadsInto(splitPath(seen), func(kept []string) bool {
		return !(computed && isGoverning(kept[0])) && !(hasNames(topNames, kept) && st.Thread.mountsReadOnly(kept))
	})
}

// patches tells whether a shell command holds a patch, which Codex takes out of it and
// asks about by itself. Where it does not look like one here it is judged then.
//
// Measured with Codex 0.169: applypatch is another name of apply_patch.
func holdsPatch(command string) bool {
	return (strings.Contains(command, "apply_patch") || strings.Contains(command, "applypatch")) && strings.Contains(command, "*** Begin Patch")
}

// patchFolder returns the folder that the paths of a patch in a shell command start from.
// Measured with Codex 0.169: it takes a patch out of a command that consists of nothing
// else, or of one cd with one word and the patch.
func patchFolder(command, cwd string) string {
	m := patchCd.FindStringSubmatch(command)
	if m == nil {
		return cwd
	}
	folder := m[1] + m[2] + m[3]
	if filepath.IsAbs(folder) {
		return folder
	}
	return filepath.Join(cwd, folder)
}

var patchCd = regexp.MustCompile(`^\s*cd\s+(?:'([^']*)'|"([^"]*)"|([^\s'"]+))\s*&&`)

// codexAsks tells whether Codex asks about a change by itself where it asks about
// those outside its sandbox (measured).
func codexAsksAbout(path string) bool {
	for name := range strings.FieldsFuncSeq(path, func(c rune) bool { return c == '/' || c == '\\' }) {
		if slices.Contains([]string{".git", ".codex", ".agents"}, name) {
			return true
		}
	}
	return false
}

// patched are the canonical paths that a patch names; one that is not known where
// there are none.
func (st State) patchedPaths(patch, cwd string) []string {
	var paths []string
	for _, path := range rules.PatchedFiles(patch) {
		paths = append(paths, st.canonicalIn(path, cwd))
	}
	if len(paths) == 0 {
		return []string{""}
	}
	return paths
}

// paths are what a patch changes, as Codex has said; empty unknown.
func (st State) patchPaths(method string, params rpc.Value) []string {
	if method != "applyPatchApproval" {
		return st.Files
	}
	var paths []string
	for path, change := range params.Get("fileChanges").Members() {
		paths = append(paths, path)
		if to := change.Get("move_path"); !isUnset(to) {
			text, _ := to.Text()
			paths = append(paths, text)
		}
	}
	return paths
}

// changed are the canonical paths that a patch changes. A path that can't be judged
// stays as it is: no rule allows it, and every one that denies could mean it.
func (st State) canonicalPatchPaths(method string, params rpc.Value) []string {
	paths := st.patchPaths(method, params)
	if len(paths) == 0 {
		return []string{""} // not known
	}
	out := make([]string, len(paths))
	for i, path := range paths {
		out[i] = path
		if at, err := st.canonical(path); err == nil {
			out[i] = at
		}
	}
	return out
}

// turned returns a folder that Codex lets the thread's commands write and whose path leads
// elsewhere now, because a link was put into it; "" if there is none.
func (st State) redirectedFolder() string {
	var folders []string
	if st.Thread != nil {
		folders = slices.Concat([]string{st.Thread.Workspace}, st.Thread.Profile.Roots, st.Thread.Roots, st.Thread.Writable)
	}
	for _, t := range st.Temps {
		folders = append(folders, t.Path)
	}
	for _, folder := range folders {
		if at, err := st.canonical(folder); err != nil || at != folder {
			return folder
		}
	}
	return ""
}
