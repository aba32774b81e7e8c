package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"codex-bridge/bridge/config"
)

// keyGlob is one entry of policy.config_keys, cut at its dots. In a segment *
// is any run of characters; a segment ** is any number of segments.
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

// covers tells whether the glob matches path or something above it.
func (g keyGlob) covers(path []string) bool {
	if len(g) == 0 {
		return true
	}
	if g[0] == "**" {
		return g[1:].covers(path) || len(path) > 0 && g.covers(path[1:])
	}
	return len(path) > 0 && wild(g[0], path[0]) && g[1:].covers(path[1:])
}

// wild matches one segment. Unlike elsewhere a * alone matches a segment that
// holds a slash, too: the name of a server may be a path.
func wild(pattern, text string) bool {
	return pattern == "*" || config.Match(pattern, text)
}

func (p *Policy) passesKey(path []string) bool {
	return slices.ContainsFunc(p.keys, func(g keyGlob) bool { return g.covers(path) })
}
