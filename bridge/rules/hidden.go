package rules

import (
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
)

// HiddenRule is a rule that denies a tool of an MCP server, or asks about it, and has no effect: an
// earlier rule of its file allows the tool.
type HiddenRule struct {
	Rule, By config.Rule
	Name     string // of the tool, as the earlier rule allows it
}

// HiddenRules returns the hidden rules among those that name one tool. The name that the earlier rule allows
// may be another spelling: Codex calls a tool _x of the server s by the name of its tool x.
func (s *Set) HiddenRules() (all []HiddenRule) {
	for i := range s.layers {
		l := &s.layers[i]
		for at, id := range l.tools {
			if r := &l.rules[id]; r.decision != Allow {
				if by, name := s.allowedBefore(l, l.tools[:at], r.source.Tool); by != nil {
					all = append(all, HiddenRule{*r.source, *by, name})
				}
			}
		}
	}
	return all
}

// allowedBefore returns the rule among ids that allows a tool of an MCP server, and the spelling of the tool
// that it allows; nil if there is none, or if pattern names no single tool.
func (s *Set) allowedBefore(l *layer, ids []int, pattern string) (by *config.Rule, name string) {
	full, ok := strings.CutPrefix(pattern, "mcp__")
	if !ok || strings.ContainsAny(pattern, `*?[{\`) {
		return nil, ""
	}
	server, tool, _ := strings.Cut(full, "__")
	hookServer, hookTool, _ := strings.Cut(strings.TrimPrefix(joinedName(server, tool), "mcp__"), "__")
	for _, names := range [][2]string{{server, tool}, {hookServer, hookTool}} {
		match := matchMCP(names[0], names[1])
		m := l.match(s.now, slices.Values(ids), func(r *rule) certainty {
			if r.decision == Allow && r.source.Escalated {
				return noMatch
			}
			return match(r)
		})
		if m.Decision == Allow {
			return m.Rule, mcpToolName(names[0], names[1])
		}
	}
	return nil, ""
}
