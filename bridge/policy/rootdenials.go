package policy

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/rpc"
)

// A profile of the user's may deny paths below each workspace root. Where the bridge removes a root from a request,
// Codex has no such entries for it any more, and commands would read there more than with Codex alone. The overlay of a
// thread that opens names these paths themselves. A turn can't do that, and is refused.

// keepRemovedRoots sees to what the removal of roots from a list would loosen.
func (c *folders) keepRemovedRoots(field string, list rpc.Value, kept []string) {
	c.keepDenialsOfRoots(field, list, kept)
	switch {
	case c.err != nil:
	case c.spec.opensThread:
		c.noteInnerRoots(list, kept)
	default:
		c.keepInnerRoots(field, list, kept, false, false)
	}
}

// keepDenialsOfRoots sees to what the user's profile denies below the roots of a list that are not kept.
func (c *folders) keepDenialsOfRoots(field string, list rpc.Value, kept []string) {
	for e := range list.Elements() {
		text, _ := e.Text()
		root, err := c.st.Canonical(text)
		if err != nil {
			root = text
		}
		if !filepath.IsAbs(root) {
			root = filepath.Join(c.workspace, root)
		}
		switch t := c.st.Thread; {
		case c.err != nil || slices.Contains(kept, root):
		case c.spec.opensThread:
			c.removedRoots = append(c.removedRoots, filepath.Clean(root))
		case t != nil && t.Profile.deniesBelowRoots(WithinAny(kept, root)):
			c.refuse(rpc.CodeRefused, field, RuleUser, "the bridge would remove the root "+root+", and with it what the permissions profile "+t.Profile.User+" denies there",
				"leave this root out, or open a thread there")
		}
	}
}

// deniesBelowRoots reports whether the user's profile has entries below each workspace root that do not count for a
// root of their own. inRoot reports that it is in another root, where globs for all depths count, if Codex looks for their
// files at any depth: a limit counts from each root.
func (f Profile) deniesBelowRoots(inRoot bool) bool {
	_, limited := f.ReadOnly[globDepthKey]
	switch below := f.ReadOnly[workspaceRootsKey].(type) {
	case string:
		return f.User != ""
	case map[string]string:
		for name := range below {
			if f.User != "" && !(inRoot && !limited && strings.HasPrefix(name, "**/")) {
				return true
			}
		}
	}
	return false
}

// withRemovedRoots returns a profile that names what it denies below the roots that the bridge removes.
func (c *folders) withRemovedRoots(u *UserProfile) *UserProfile {
	below := u.access[workspaceRootsKey]
	if len(c.removedRoots) == 0 || len(below) == 0 {
		return u
	}
	all := *u
	all.access = maps.Clone(u.access)
	for _, root := range c.removedRoots {
		entries := maps.Clone(all.access[root])
		if entries == nil {
			entries = map[string]string{}
		}
		for name, access := range below {
			if access != accessWrite {
				entries[name] = narrower(entries[name], access)
			}
		}
		if len(entries) > 0 {
			all.access[root] = entries
		}
	}
	return &all
}
