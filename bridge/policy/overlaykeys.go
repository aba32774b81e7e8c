package policy

import (
	"codex-bridge/bridge/config"
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// forbiddenKeys are keys that an overlay must not have, regardless of policy.config_keys. Each
// would override a checked field or disable hooks. A key includes all keys below it.
var forbiddenKeys = []struct {
	path   []string // folded
	reason string
}{
	{[]string{"approvalpolicy"}, "the field approvalPolicy is the one that is judged; a default of untrusted here makes codex fail"},
	{[]string{"sandboxmode"}, "the field sandbox is the one that is judged"},
	{[]string{"sandboxworkspacewrite"}, "network and writable roots are set by policy.network and policy.writable_roots"},
	{[]string{"defaultpermissions"}, "the field permissions is the one that is judged"},
	{[]string{"permissions"}, "a profile made by the client could allow anything"},
	{[]string{"approvalsreviewer"}, "the field approvalsReviewer is the one that is judged"},
	{[]string{"projects"}, "trust in a folder, and with it the folder's own configuration, is not the client's to give"},
	{[]string{"bypasshooktrust"}, "it would run hooks that nobody trusts"},
	{[]string{"hooks"}, "hooks watch the thread; the client must not add or replace them"},
	{[]string{"features", "hooks"}, "it switches hooks off"},
	// Measured with Codex 0.169: it still reads the old names, with a notice.
	{[]string{"features", "codexhooks"}, "it is the old name of features.hooks and switches hooks off"},
	{[]string{"features", "pluginhooks"}, "it switches the hooks of plugins off"},
	// Measured with Codex 0.169: a disabled plugin's hooks do not run.
	{[]string{"plugins"}, "it switches plugins off, and their hooks with them, or brings one in"},
	{[]string{"features", "plugins"}, "it switches plugins off, and their hooks with them"},
	{[]string{"profile"}, "a profile is a whole configuration"},
	{[]string{"profiles"}, "a profile is a whole configuration"},
}

// forbiddenReason returns why the key at path never passes; "" if it may. A key above a forbidden
// one is forbidden only as a leaf, which would replace the whole table.
func forbiddenReason(path []string, leaf bool) string {
	folded := make([]string, 0, len(path))
	for _, s := range path {
		if s = foldName(s); s != "" {
			folded = append(folded, s)
		}
	}
	for _, n := range forbiddenKeys {
		k := min(len(n.path), len(folded))
		if k == 0 || !slices.Equal(n.path[:k], folded[:k]) {
			continue
		}
		if k == len(n.path) || leaf {
			return n.reason
		}
	}
	return ""
}

// keyGlob is one entry of policy.config_keys, split at its dots. In a segment, * matches any
// characters; a segment ** matches any number of segments.
type keyGlob []string

func parseKeyGlob(text string) (keyGlob, error) {
	g := strings.Split(text, ".")
	for _, segment := range g {
		if segment == "" || !doublestar.ValidatePattern(segment) {
			return nil, fmt.Errorf("%q: %q is not the glob of one segment of a key", text, segment)
		}
	}
	return g, nil
}

// covers reports whether the glob matches path or a key above it.
func (g keyGlob) covers(path []string) bool {
	if len(g) == 0 {
		return true
	}
	if g[0] == "**" {
		return g[1:].covers(path) || len(path) > 0 && g.covers(path[1:])
	}
	return len(path) > 0 && matchSegment(g[0], path[0]) && g[1:].covers(path[1:])
}

// matchSegment matches one segment. Unlike other globs, a lone * also matches a slash, because a
// server's name may be a path.
func matchSegment(pattern, text string) bool {
	return pattern == "*" || config.Match(pattern, text)
}

func (p *Policy) allowsKey(path []string) bool {
	return slices.ContainsFunc(p.keys, func(g keyGlob) bool { return g.covers(path) })
}
