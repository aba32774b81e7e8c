package policy

import (
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// Readings returns the paths by which a file is judged: Paths.Readings, without other names of the
// workspace and of the home folder. The strictest of them counts, so that a link gives access to nothing
// that the rules, policy.protected_paths or the roots protect.
//
// Measured with Codex 0.169: a patch that adds or updates a file writes through a link; one that deletes or
// moves it removes the link itself.
func (st State) Readings(path string) ([]string, error) {
	return st.ReadingsIn(st.ThreadWorkspace(), path)
}

// ThreadWorkspace returns the workspace of the thread; "" if there is none.
func (st State) ThreadWorkspace() string {
	if st.Thread == nil {
		return ""
	}
	return st.Thread.Workspace
}

// ReadingsIn is readings for a workspace without a thread.
func (st State) ReadingsIn(workspace, path string) ([]string, error) {
	if err := st.checkPath(path); err != nil {
		return nil, err
	}
	found, err := st.Paths.Readings(path)
	out := make([]string, 0, len(found))
	for _, at := range found {
		if !isPlain(at) {
			return nil, errNotPlain
		}
		if at = filepath.Clean(at); len(found) > 1 {
			at = st.renamed(workspace, at)
		}
		if !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out, err
}

// LinkedFile returns the reading that is a workspace policy file in the place of a link; "" if none is.
// Codex's sandbox keeps the target from commands, but not the link: without it, the policy would not govern
// later threads.
func LinkedFile(found []string) string {
	for _, path := range found[:max(len(found)-1, 0)] {
		if strings.EqualFold(filepath.Base(path), config.WorkspaceFile) {
			return path
		}
	}
	return ""
}

// renamed returns a path that starts with another name of the workspace or the home folder, with their
// canonical name. Thereby a link above the workspace, such as /tmp on macOS, is no reading. A name in a
// governing folder stays.
func (st State) renamed(workspace, path string) string {
	if workspace != "" && Within(workspace, path) || st.Home != "" && Within(st.Home, path) || IsGoverning(path) {
		return path
	}
	for i := range path {
		if i == 0 || path[i] != filepath.Separator {
			continue
		}
		if at, err := st.Canonical(path[:i]); err == nil && (at == workspace || at == st.Home) {
			return filepath.Join(at, path[i:])
		}
	}
	return path
}

// FileChanges returns the changes of files for the rules: one for each reading of each name. A name that
// can't be resolved, and a patch without names, also stand for any file: no rule allows it, and every deny
// rule may match it.
func (st State) FileChanges(workspace string, names []string) (changes []rules.Change) {
	for _, name := range names {
		found, err := st.ReadingsIn(workspace, name)
		for _, path := range found {
			changes = append(changes, rules.Change{Path: path})
		}
		if err != nil {
			changes = append(changes, rules.Change{})
		}
	}
	if changes == nil {
		return []rules.Change{{}}
	}
	return changes
}

// PatchedFiles returns the absolute names of the files of a patch, as it spells them. An empty name stands
// for any file.
func PatchedFiles(patch, cwd string) (names []string) {
	for _, name := range rules.PatchedFiles(patch) {
		names = append(names, NameIn(cwd, name))
	}
	return names
}

// NameIn returns the absolute name of a file that is relative to a folder. It is not cleaned: a name before
// ".." may be a link. An empty name stays empty, and in an unknown folder, "", the name stays relative.
func NameIn(folder, name string) string {
	if name == "" || folder == "" || filepath.IsAbs(name) {
		return name
	}
	return folder + string(filepath.Separator) + name
}

// RequestedFiles returns the absolute names of the files of a patch in a request of Codex; empty if they are
// unknown.
func (st State) RequestedFiles(method string, params rpc.Value) []string {
	if method != "applyPatchApproval" {
		return st.Files
	}
	var names []string
	for path, change := range params.Get("fileChanges").Members() {
		names = append(names, path)
		if to := change.Get("move_path"); !IsUnset(to) {
			text, _ := to.Text()
			names = append(names, text)
		}
	}
	return names
}
