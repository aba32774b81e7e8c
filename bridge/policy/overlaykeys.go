package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/rpc"
)

// forbiddenReason returns why the key at path never passes; "" if it may. A key above a forbidden
// one is forbidden only as a leaf, which would replace the whole table.
func forbiddenReason(path []string, leaf bool) string {
	folded := make([]string, 0, len(path))
	for _, s := range path {
		if s = methods.FoldName(s); s != "" {
			folded = append(folded, s)
		}
	}
	for _, n := range keys().never {
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

// refuseForbiddenLoss is refuseLoss for a key that never passes, for the reason advice.
func (c *request) refuseForbiddenLoss(path []string, m rpc.Value, advice string) bool {
	row := findLoss(path, string(m.Raw()))
	if row == nil || c.st.Rewritten || c.readsForbidden(path, m) {
		return false
	}
	c.lost = true
	c.refuse(rpc.CodeRefused, "params.config."+strings.Join(path, "."), RuleKeys, "the policy never allows it, and "+row.loss, "remove it: "+advice)
	return true
}

// readsForbidden reports whether the bridge takes the value of a key that never passes from the overlay of a
// thread, or whether its loss only narrows.
func (c *request) readsForbidden(path []string, m rpc.Value) bool {
	switch {
	case path[0] == featuresKey: // hooks stay on
		return path[1] != "plugins"
	case path[0] == projectsKey:
		return onlyTrusts(path[len(path)-1], m)
	case path[0] == "hooks":
		return len(path) > 1 && path[1] == "state" || onlyHookState(m)
	case !c.spec.opensThread:
		return false
	case path[0] == approvalPolicyKey:
		return len(path) == 1 && (m.Kind() == rpc.String || m.Kind() == rpc.Object)
	}
	return path[0] == workspaceWriteKey && len(path) == 2 && path[1] == "writable_roots" && m.Kind() == rpc.Array
}

// onlyTrusts reports whether a part of the table projects only trusts folders.
func onlyTrusts(key string, m rpc.Value) bool {
	if m.Kind() != rpc.Object {
		return key == "trust_level" && m.Is(string(trusted))
	}
	for name, v := range m.Members() {
		if !onlyTrusts(name, v) {
			return false
		}
	}
	return true
}

// onlyHookState reports whether a part of the table hooks has no hooks. The table state switches hooks off, or
// trusts them.
func onlyHookState(m rpc.Value) bool {
	if m.Kind() != rpc.Object {
		return m.Kind() == rpc.Array && m.Len() == 0
	}
	for name, v := range m.Members() {
		if name != "state" && !onlyHookState(v) {
			return false
		}
	}
	return true
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
