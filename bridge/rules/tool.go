package rules

import (
	"iter"
	"slices"
	"strings"

	"codex-bridge/bridge/config"
)

// MCP decides a call of an MCP server's tool. It goes by the name
// mcp__SERVER__TOOL, and mcp means all of them.
func (s *Set) MCP(server, tool string) Match {
	name := "mcp__" + server + "__" + tool
	// Where the name could be cut in another way, an allow rule may have meant
	// another server.
	both := server + "__" + tool
	clear := server != "" && tool != "" && strings.Index(both, "__") == len(server) && strings.LastIndex(both, "__") == len(server)
	return s.tool(name, func(r *rule, flat string) certainty {
		switch pattern := r.source.Tool; {
		case pattern == "mcp", r.mcp && config.Match(pattern, flat):
			return sure
		case r.mcp:
			return could
		case !strings.HasPrefix(flat, r.toolPre) && !strings.HasPrefix(name, r.toolPre):
			return no
		case clear && config.Match(pattern, name):
			return sure
		case config.Match(pattern, name), config.Match(pattern, flat):
			return could
		}
		return no
	})
}

// Tool decides a call of a dynamic tool. One that bears the name of what Codex
// itself has is allowed by no rule.
func (s *Set) Tool(name string) Match {
	taken := name == "" || name == "shell" || name == "file" || name == "mcp" || strings.HasPrefix(name, "mcp__")
	return s.tool(name, func(r *rule, flat string) certainty {
		switch pattern := r.source.Tool; {
		case !taken && config.Match(pattern, name):
			return sure
		case config.Match(pattern, name), config.Match(pattern, flat):
			return could
		}
		return no
	})
}

// tool: escalated is about what leaves the sandbox, in which no tool runs, so
// an allow rule that has it does not speak of tools.
func (s *Set) tool(name string, match func(r *rule, flat string) certainty) Match {
	flat := strings.ReplaceAll(name, "/", "_") // a * would stop at a slash
	m := s.decide(Sandboxed, func(l *layer) iter.Seq[int] { return slices.Values(l.tools) }, func(r *rule) certainty {
		return match(r, flat)
	})
	if m.Decision != None {
		m.Part = name
	}
	return m
}
