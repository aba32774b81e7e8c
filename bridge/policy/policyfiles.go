package policy

import "slices"

// OtherPolicyFile returns a policy file that governs path but not the thread; "" if there is none.
// The policy file of a thread's first folder governs it, and its commands can't write that file. So
// a turn can't move to, or get as a root, a folder with another policy file.
func (c *folders) otherPolicyFile(path string) string {
	return c.st.OtherPolicyFile(path, c.openingFolder())
}

// OtherPolicyFile is the same for a thread with this workspace; "" stands for the workspace of
// State.Thread.
func (st State) OtherPolicyFile(path, workspace string) string {
	if st.PolicyFiles == nil {
		return ""
	}
	files := st.PolicyFiles.PolicyFiles(path)
	if len(files) == 0 {
		return ""
	}
	folders := []string{workspace, st.StartFolder} // the policy file of StartFolder counts in every thread
	if st.Thread != nil {
		folders = append(folders, st.Thread.Profile.Roots...)
		if workspace == "" {
			folders = append(folders, st.Thread.Workspace)
		}
	}
	for _, file := range files {
		if !slices.ContainsFunc(folders, func(folder string) bool {
			return folder != "" && slices.Contains(st.PolicyFiles.PolicyFiles(folder), file)
		}) {
			return file
		}
	}
	return ""
}

// canWorkIn reports whether a turn may work in path or write it.
func (c *folders) canWorkIn(path string) bool {
	return c.reachable(path) && c.otherPolicyFile(path) == ""
}

// barredReason returns why a turn may not work in path.
func (c *folders) barredReason(path string) string {
	if c.st.OverlapsSensitive(path) && !IsGoverning(path) {
		return "a folder of Codex or of the policy, or contains one"
	}
	if c.reachable(path) {
		if file := c.otherPolicyFile(path); file != "" {
			return "under the policy file " + file + ", which does not govern this thread; open a thread there"
		}
		if outer := c.enclosingWritable(path); outer != "" {
			return "inside " + outer + ", where a command could replace it by a link; send " + outer
		}
		if other := c.overlappingWritable(path); other != "" {
			why := "in " + other + " or contains it, which commands could write, and a command could replace the inner folder by a link"
			if !c.spec.startsThread {
				why += "; start a thread there"
			}
			return why
		}
	}
	if path != c.workspace && Within(path, c.workspace) {
		return "around the workspace " + c.workspace + ", which a command could replace by a link, with its policy files"
	}
	if c.st.IsInPath(path) || c.st.holdsProgram(path) && WritableBelowAny(c.allowed(), path) {
		return "a folder of programs that run outside the sandbox, such as one of PATH"
	}
	return outsideReason(path)
}

// PolicyFiles finds the policy files of a folder.
type PolicyFiles interface {
	// PolicyFiles returns the canonical paths of the workspace policy files that govern a thread in
	// folder, which is canonical.
	PolicyFiles(folder string) []string
}
