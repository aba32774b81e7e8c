package policy

import (
	"codex-bridge.example/bridge/config"
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// forbiddenKeys are keys that an overlay must not have, regardless of policy.config_keys. Each
// would override a checked field or disable hooks. A key includes all keys below it.
var forbiddenKeys = []struct {
	path   []string // after foldName
	reason string
}{
	{[]string{"approvalpolicy"}, "use the field approvalPolicy"},
	{[]string{"sandboxmode"}, "use the field sandbox"},
	{[]string{"sandboxworkspacewrite"}, "policy.network and policy.writable_roots set these values"},
	{[]string{"defaultpermissions"}, "use the field permissions"},
	{[]string{"permissions"}, "a client's profile could allow anything"},
	{[]string{"approvalsreviewer"}, "use the field approvalsReviewer"},
	{[]string{"projects"}, "a client may not trust a folder, which would load the folder's configuration"},
	{[]string{"bypasshooktrust"}, "Codex would run untrusted hooks"},
	{[]string{"hooks"}, "hooks check the thread, and a client may not change them"},
	{[]string{"features", "hooks"}, "it disables hooks"},
	// Measured with Codex 0.169: it still reads the old names, with a notice.
	{[]string{"features", "codexhooks"}, "it is the old name of features.hooks and disables hooks"},
	{[]string{"features", "pluginhooks"}, "it disables the hooks of plugins"},
	// Measured with Codex 0.169: a disabled plugin's hooks do not run.
	{[]string{"plugins"}, "it disables plugins and their hooks, or adds one"},
	{[]string{"features", "plugins"}, "it disables plugins and their hooks"},
	{[]string{"sqlitehome"}, "it moves Codex's own state to a folder that the bridge does not protect"},
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
			return nil, fmt.Errorf("%q: %q is not a glob for one segment of a key", text, segment)
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
