package policy

import (
	"maps"
	"path/filepath"
	"slices"

	"codex-bridge.example/rpc"
)

// The bridge sends no root inside another folder that commands can write: a command could replace it by a link. Codex
// alone protects more in such a root than elsewhere in the outer folder. So the profile of the thread protects it, too. A
// turn can't change that profile, and is refused.
//
// Measured with Codex 0.169 and 0.171: a root is a mount, so commands can't rename it, and .git, .codex, .agents and .aws
// at its top are read-only. An entry "write" of a profile does the same. If the path of that entry becomes a link, Codex
// follows it, unless an entry "read" below has to cross the link: then no command starts. Codex alone starts no command
// either if the root is a link or a file, or is missing when the thread opens.

// CrossingName is the name below an inner root that has an entry "read". Codex protects it anyway, and git and shells
// don't mind an empty folder of that name.
const CrossingName = ".agents"

// These are the keys of the temporary folders in Codex's table.
const tmpdirKey, slashTmpKey = ":tmpdir", ":slash_tmp"

// innerRoots returns the roots that Codex alone would give the opening thread and that are inside one of the folders
// outer, the workspace roots of the request, or inside a temporary folder. The value is that folder.
func (c *folders) innerRoots(outer, configured []string) map[string]string {
	roots := slices.Concat(c.requestedRoots(), c.absoluteRoots(slices.Values(configured)))
	overlay := c.params.Get("config")
	for _, list := range []rpc.Value{overlay.Get(workspaceWriteKey + ".writable_roots"), overlay.Get(workspaceWriteKey).Get("writable_roots")} {
		roots = slices.Concat(roots, c.absoluteRoots(textsOf(list)))
	}
	inner := map[string]string{}
	for _, root := range roots {
		for _, folder := range c.st.WithTemps(outer) {
			if inner[root] == "" && c.st.IsInnerRoot([]string{folder}, root) {
				inner[root] = folder
			}
		}
	}
	return inner
}

// refuseEnvironmentAround refuses an opening thread with an inner root that is in none of the roots of its environment.
//
// Measured with Codex 0.169: these count in place of the thread's own, so that Codex alone would not let commands write
// the inner root, but later turns may.
func (c *folders) refuseEnvironmentAround(inner map[string]string) {
	for environment := range c.params.Get("environments").Elements() {
		writable := c.absoluteRoots(slices.Values([]string{TextOf(environment.Get("cwd"))}))
		if roots := environment.Get("runtimeWorkspaceRoots"); !IsUnset(roots) {
			writable = c.absoluteRoots(textsOf(roots))
		}
		for _, root := range slices.Sorted(maps.Keys(inner)) {
			if inTemp := slices.Contains(c.st.WithTemps(nil), inner[root]); !inTemp && !WithinAny(writable, root) {
				c.refuse(rpc.CodeRefused, "params.environments", RuleRoots, "the thread would have the root "+root+" inside "+inner[root]+", but the environment has no root around it",
					"send the roots without an environment, or one of them around it")
				return
			}
		}
		return // the first one counts
	}
}

// IsInnerRoot reports whether the profile must protect a root inside one of the folders.
func (st State) IsInnerRoot(folders []string, root string) bool {
	return isInside(folders, root) && !st.OverlapsSensitive(root)
}

// isInside reports whether a root is inside one of the folders, and not in a .git or the like there. Of such a root Codex
// protects nothing.
func isInside(folders []string, root string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return folder != root && WritableBelow(folder, root) })
}

// noteInnerRoots notes the roots of an opening thread that the bridge removes from a list although they are inside kept
// ones or a temporary folder.
func (c *folders) noteInnerRoots(list rpc.Value, kept []string) {
	outer := c.st.WithTemps(kept)
	for _, root := range c.absoluteRoots(textsOf(list)) {
		if !slices.Contains(kept, root) && isInside(outer, root) {
			c.removedInnerRoots = append(c.removedInnerRoots, root)
		}
	}
}

// WithTemps returns the folders and the temporary folders.
func (st State) WithTemps(folders []string) []string {
	all := slices.Clone(folders)
	for _, t := range st.Temps {
		all = append(all, t.Path)
	}
	return all
}

// requestedRoots returns the inner roots that the bridge has removed from this request, and from the one that opened the
// thread of a resume. Codex restores the roots with which it has recorded a thread, but a fork gets none.
func (c *folders) requestedRoots() []string {
	roots := slices.Clone(c.removedInnerRoots)
	if c.restoresRoots() {
		roots = append(roots, c.st.InnerRoots...)
		if c.st.Thread != nil {
			roots = append(roots, c.st.Thread.InnerRoots...)
		}
	}
	if c.st.Rewritten { // another policy has removed them from the request, and added the profile
		for _, profile := range c.params.Get("config").Get(permissionsKey).Members() {
			for at, access := range profile.Get("filesystem").Members() {
				if access.Is(accessRead) && filepath.IsAbs(at) && filepath.Base(at) == CrossingName {
					roots = append(roots, filepath.Dir(at))
				}
			}
		}
	}
	slices.Sort(roots)
	return slices.Compact(roots)
}

// RemovedRoots returns the inner roots that the bridge has removed from the requests by which the thread has its roots.
func (s *SentSettings) RemovedRoots(st State) []string {
	roots := slices.Clone(s.InnerRoots)
	if s.Loaded { // Codex ignores the roots of the request
		roots = append(roots, st.InnerRoots...)
		if st.Thread != nil {
			roots = append(roots, st.Thread.InnerRoots...)
		}
	}
	slices.Sort(roots)
	return slices.Compact(roots)
}

// restoresRoots reports whether Codex gives the thread of the request the roots with which it has recorded it.
func (c *request) restoresRoots() bool {
	return c.m.Method == "thread/resume" && IsUnset(c.params.Get("runtimeWorkspaceRoots"))
}

// outerRoots returns the roots that the opening thread gets: those of the request, those that Codex has recorded, or the
// folder in which it opens. folders are that folder and the roots of the request. It refuses a resume if the thread may get
// roots around others that the bridge does not know. Another program may have changed what Codex has recorded.
func (c *folders) outerRoots(folders []string) []string {
	const hint = "send runtimeWorkspaceRoots"
	cold := c.restoresRoots() && c.st.NotLoaded && !c.st.UnknownThread
	switch {
	case len(folders) > 1:
		return folders[1:] // which take the place of the folder
	case !c.restoresRoots():
		return folders
	case cold && len(c.st.InnerRoots) > 0 && c.st.Stored == nil && c.st.StoredProblem == "":
		c.want(WantStoredSandbox)
		return folders
	case cold && c.st.Stored != nil && c.st.Stored.Roots != nil && c.st.RootsProblem == "":
		return c.restoredRoots(folders[0])
	case len(c.st.InnerRoots) > 0 && c.st.LoadedProfile == nil && !c.st.NotLoaded && !c.st.UnknownThread:
		return folders // decideProfile asks whether Codex has loaded the thread
	}
	if c.st.RootsProblem != "" {
		c.refuse(rpc.CodeRefused, "params.threadId", RuleRoots, "the bridge's record of the thread's roots can't be read: "+c.st.RootsProblem, hint+", or run codex-bridge doctor")
		return nil
	}
	for _, root := range c.st.InnerRoots {
		loaded := c.st.LoadedProfile != nil && c.st.LoadedProfile.protectsInner(root)
		if !loaded && !isInside(c.st.WithTemps(folders), root) {
			c.refuse(rpc.CodeRefused, "params.threadId", RuleRoots, "the thread was opened with the root "+root+" inside another one that is not "+folders[0], hint)
			return nil
		}
	}
	return folders
}

// restoredRoots returns the roots that a cold resume in folder has from Codex's record.
//
// Measured with Codex 0.169 and 0.171: a cwd of the request takes the place of the recorded one among the recorded roots.
func (c *folders) restoredRoots(folder string) []string {
	roots := c.absoluteRoots(slices.Values(c.st.Stored.Roots))
	if IsUnset(c.params.Get("cwd")) {
		return roots
	}
	recorded := c.absoluteRoots(slices.Values([]string{c.st.Stored.Cwd}))[0]
	for i, root := range roots {
		if root == recorded || c.st.Stored.Cwd == "" {
			roots[i] = folder
		}
	}
	return roots
}

// addInnerRoots adds the entries for roots inside writable folders: "write" for the root, which makes it a mount of its
// own, and "read" for CrossingName. A file has nothing below it. Nothing changes below a path with "read".
func (st State) addInnerRoots(entries map[string]any, folders []string, inner map[string]string, between func(folder, at string)) {
	relative, _ := entries[workspaceRootsKey].(map[string]string)
	isRead := func(at string) bool {
		for name, access := range relative {
			for _, folder := range folders {
				if access == accessRead && at == filepath.Join(folder, filepath.FromSlash(name)) {
					return true
				}
			}
		}
		return entries[at] == accessRead
	}
	for root, outer := range inner {
		switch {
		case isOrIsBelow(root, isRead):
			continue
		case st.IsFile != nil && st.IsFile(root):
			entries[root] = accessRead
		default:
			entries[root], entries[filepath.Join(root, CrossingName)] = accessWrite, accessRead
		}
		between(outer, root)
	}
}

// InnerRoots returns the roots inside others that the profile makes writable and protects.
func (f Profile) InnerRoots() (roots []string) {
	for at := range f.Entries {
		if root := filepath.Dir(at); filepath.IsAbs(at) && filepath.Base(at) == CrossingName && f.accessOf(root) == accessWrite {
			roots = append(roots, root)
		}
	}
	slices.Sort(roots)
	return roots
}

// accessOf returns the access of the entry for an absolute path; "" if there is none.
func (f Profile) accessOf(path string) string {
	switch entry := f.Entries[path].(type) {
	case string:
		return entry
	case map[string]string:
		return entry["."]
	}
	return ""
}

// protectsInner reports whether the profile protects a root inside a writable folder, or lets commands write nothing there.
func (f Profile) protectsInner(root string) bool {
	relative, _ := f.Entries[workspaceRootsKey].(map[string]string)
	for path := root; path != filepath.Dir(path); path = filepath.Dir(path) {
		access := []string{f.accessOf(path)}
		for _, folder := range f.Folders {
			if name, err := filepath.Rel(folder, path); err == nil {
				access = append(access, relative[filepath.ToSlash(name)])
			}
		}
		switch {
		case slices.Contains(access, accessWrite): // it wins over "read"
			return path == root && slices.Contains(f.InnerRoots(), root)
		case slices.Contains(access, accessRead), slices.Contains(access, accessDeny):
			return true
		}
	}
	return false
}

// dropNarrowedRoots removes the entries for inner roots of which the user's profile lets commands write nothing.
func (c *request) dropNarrowedRoots(entries map[string]any, u *UserProfile, folders []string) {
	narrowed := c.narrowedPaths(u.workspaceEntries(), folders)
	for _, root := range (Profile{Entries: entries}).InnerRoots() {
		if slices.ContainsFunc(narrowed, func(n narrowedPath) bool { return Within(n.path, root) }) {
			delete(entries, root)
			delete(entries, filepath.Join(root, CrossingName))
		}
	}
}

// keepInnerRoots refuses a turn, or a command of the client, whose roots the bridge would remove from a list, if commands
// could then write there what Codex alone protects.
func (c *folders) keepInnerRoots(field string, list rpc.Value, kept []string, noTmpdir, noSlashTmp bool) {
	if !c.p.letsWrite() {
		return
	}
	profile, outer := Profile{}, slices.Concat([]string{c.workspace}, kept, c.newlyWritable)
	if t := c.st.Thread; t != nil {
		profile, outer = t.Profile, slices.Concat(outer, t.Roots, t.Profile.Roots)
	}
	for _, t := range c.st.Temps {
		if excluded := t.key() == tmpdirKey && noTmpdir || t.key() == slashTmpKey && noSlashTmp; !excluded {
			outer = append(outer, t.Path)
		}
	}
	for _, root := range c.absoluteRoots(textsOf(list)) {
		for _, folder := range outer {
			if folder == "" || slices.Contains(kept, root) || !isInside([]string{folder}, root) || c.p.protectsBeyondCodex(root[len(folder):]) || profile.protectsInner(root) {
				continue
			}
			hint := "leave this root out, since it is writable with " + folder
			if c.st.Thread != nil {
				hint += ", or start a thread with it as one of runtimeWorkspaceRoots"
			}
			c.refuse(rpc.CodeRefused, field, RuleRoots, "the bridge would remove the root "+root+", which is inside "+folder+", and with it Codex's protection of its .git, .codex and .agents", hint)
			return
		}
	}
}

// keepOuterRoots refuses new roots of a turn that do not hold each inner root of the thread's profile, which makes that
// writable.
func (c *request) keepOuterRoots(field string, roots []string) {
	if c.err != nil || c.spec.opensThread || c.st.Thread == nil {
		return
	}
	t := c.st.Thread
	for _, root := range t.Profile.InnerRoots() {
		if !WithinAny(roots, root) && t.Profile.InTemps[root] == nil {
			c.refuse(rpc.CodeRefused, "params."+field, RuleRoots, "the thread was opened with the root "+root+", and would keep it also without a root around it",
				"send a root around it, too, or start another thread")
			return
		}
	}
}

// foldersInTemps returns the folders with an entry "write" that are writable only with a temporary folder around them or
// the folder itself. The value has the keys of these.
func (st State) foldersInTemps(entries map[string]any, folders []string) map[string][]string {
	inside := map[string][]string{}
	for at, access := range entries {
		for _, t := range st.Temps {
			if access == accessWrite && Within(t.Path, at) && !WithinAny(folders, at) {
				inside[at] = append(inside[at], t.key())
			}
		}
	}
	return inside
}

// key returns the key of the folder in Codex's table.
func (t TempFolder) key() string {
	if t.Name == "/tmp" {
		return slashTmpKey
	}
	return tmpdirKey
}

// absoluteRoots returns the canonical paths of roots. One that can't be resolved stays as it is written.
func (c *folders) absoluteRoots(texts func(yield func(string) bool)) (roots []string) {
	for text := range texts {
		at, err := c.st.Canonical(text)
		if err != nil {
			at = filepath.Clean(text)
		}
		if !filepath.IsAbs(at) {
			at = filepath.Join(c.workspace, at)
		}
		roots = append(roots, at)
	}
	return roots
}

// textsOf returns the texts of an array.
func textsOf(list rpc.Value) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for v := range list.Elements() {
			if text, ok := v.Text(); ok && !yield(text) {
				return
			}
		}
	}
}
