package rules

import (
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"

	"codex-bridge.example/bridge/config"
)

// MCP decides a call of an MCP server's tool. Its name is mcp__SERVER__TOOL; a rule with the tool
// mcp matches all of them. The names may be those of the server, or those that Codex makes of them.
func (s *Set) MCP(server, tool string) Match {
	name := mcpToolName(server, tool)
	return s.decideTool(name, matchMCP(server, tool))
}

func mcpToolName(server, tool string) string { return "mcp__" + server + "__" + tool }

// matchMCP returns how surely a rule matches a tool of an MCP server.
func matchMCP(server, tool string) func(*rule) certainty {
	name := mcpToolName(server, tool)
	flat := flatName(name)
	// If the name can be split in another way, an allow rule may mean another server.
	full := server + "__" + tool
	unambiguous := server != "" && tool != "" && strings.Index(full, "__") == len(server) && strings.LastIndex(full, "__") == len(server) && !mcpHash().MatchString(server)
	spellings := []string{flat, name, mcpName(name), joinedName(server, tool), mcpHash().ReplaceAllString(mcpName(name), "$1")}
	if tool == "" { // the name at the hook of a tool of the server _ has no second __
		spellings = append(spellings, "mcp__"+mcpName(server))
	}
	slices.Sort(spellings)
	spellings = slices.Compact(spellings)
	// A name with a hash may be cut. The name of the tool is whole if only the server's has a hash.
	begin, end := "", ""
	if at := mcpHash().FindStringIndex(name); at != nil {
		begin = mcpName(name[:at[0]])
		if !mcpHash().MatchString("_" + tool) {
			end = mcpName("__" + tool)
		}
	}
	return func(r *rule) certainty {
		matches := func(spelling string) bool {
			return config.Match(r.source.Tool, spelling) || r.mcpGlob != r.source.Tool && config.Match(r.mcpGlob, spelling) || matchesUntrimmed(r.mcpGlob, spelling)
		}
		switch pattern := r.source.Tool; {
		case pattern == "mcp", r.allMCP && config.Match(pattern, flat):
			return certainMatch
		case r.allMCP:
			return possibleMatch
		case unambiguous && config.Match(pattern, name):
			return certainMatch
		case slices.ContainsFunc(spellings, matches):
			return possibleMatch
		case begin != "" && slices.ContainsFunc(untrimmed(end, r.mcpGlob), func(end string) bool { return matchesCut(r.mcpGlob, begin, end) }):
			return possibleMatch
		}
		return noMatch
	}
}

// resourceTools are Codex's own tools for the resources of MCP servers.
var resourceTools = []string{"list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource"}

// IsResourceTool reports whether Resource decides the calls of a tool of Codex.
func IsResourceTool(name string) bool { return slices.Contains(resourceTools, name) }

// Resource decides a call of a resource tool. A deny or ask rule for the tools of the server applies,
// too, if it matches a tool of that name. With server "" the call is about all servers, and rules for
// all tools of any server apply.
//
// Measured with Codex 0.169: it removes white space around the name of the server, and asks nothing.
func (s *Set) Resource(name, server string) Match {
	server = strings.TrimSpace(server)
	ofServer := matchMCP(server, name)
	if server == "" {
		ofServer = func(r *rule) certainty {
			if r.allMCP || isServerGlob(r.source.Tool, name) {
				return possibleMatch
			}
			return noMatch
		}
	}
	itself := matchTool(name)
	return s.decideTool(name, func(r *rule) certainty {
		if c := itself(r); c != noMatch || r.decision == Allow {
			return c
		}
		return ofServer(r)
	})
}

// isServerGlob reports whether a pattern may match a tool with that name of some MCP server, also if
// it names the server.
func isServerGlob(pattern, tool string) bool {
	begin := pattern
	if i := strings.IndexAny(pattern, `*?[{\`); i >= 0 {
		begin = pattern[:i]
	}
	const prefix = "mcp__"
	rest, ofServers := strings.CutPrefix(begin, prefix)
	if !ofServers && begin != prefix[:min(len(begin), len(prefix))] {
		return false
	}
	rest += pattern[len(begin):]
	if i := strings.LastIndex(rest, "__"); i >= 0 && config.Match(rest[i+len("__"):], tool) {
		return true
	}
	return strings.HasSuffix(rest, "*") && !strings.Contains(rest, "__") || strings.ContainsAny(rest, `{\`) && strings.Contains(rest, "*")
}

// mcpHash matches the hash that Codex puts behind the name of a server or a tool.
//
// Measured with Codex 0.169: in names of MCP servers and tools it replaces each character except
// letters, digits and _ by _. If two names become equal, each gets a hash. A name that is too long is
// cut, and gets one, too. The hook gets this name, a question about the call the server's own.
var mcpHash = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`_[0-9a-f]{12}(__|$)`) })

// replacedByCodex matches the characters that Codex replaces in such a name.
var replacedByCodex = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^0-9A-Za-z_]`) })

// mcpName returns a name as Codex spells it, apart from a hash.
func mcpName(name string) string { return replacedByCodex().ReplaceAllString(name, "_") }

// joinedName returns the name of a tool at the hook, apart from a hash.
//
// Measured with Codex 0.169: it replaces other characters by underscores first. Then it removes all underscores
// from the end of the server's name, and from the start of the tool's.
func joinedName(server, tool string) string {
	return strings.TrimRight("mcp__"+mcpName(server), "_") + "__" + strings.TrimLeft(mcpName(tool), "_")
}

// matchesUntrimmed reports whether a glob of mcpGlob matches a name from which Codex makes a spelling by
// removing underscores.
func matchesUntrimmed(glob, spelling string) bool {
	return slices.ContainsFunc(untrimmed(spelling, glob), func(name string) bool { return config.Match(glob, name) })
}

// untrimmed returns a spelling, and the names from which Codex may make it by removing underscores between a
// server and its tool. Names with more underscores than the glob can match are left out.
func untrimmed(spelling, glob string) []string {
	names := []string{spelling}
	most := strings.Count(glob, "_") + strings.Count(glob, "?")
	for i := 0; i < len(spelling); {
		end := i
		for end < len(spelling) && spelling[end] == '_' {
			end++
		}
		for n := end - i + 1; end-i >= 2 && n <= most; n++ {
			names = append(names, spelling[:i]+strings.Repeat("_", n)+spelling[end:])
		}
		i = end + 1
	}
	return names
}

// mcpGlob returns a glob that also matches the names that Codex makes of those that pattern matches.
func mcpGlob(pattern string) string {
	// Beside a slash, ** also matches nothing. Codex has no slash in a name.
	pattern = slashStars().ReplaceAllString(pattern, "*")
	var out strings.Builder
	class, escaped, depth := false, false, 0
	for _, c := range pattern {
		switch {
		case c == '\\' && !escaped:
			escaped = true
			continue
		case class:
			class, escaped = escaped || c != ']', false
			continue
		case !replacedByCodex().MatchString(string(c)), c == '*' && !escaped, c == ',' && !escaped && depth > 0:
		case c == '{' && !escaped:
			depth++
		case c == '}' && !escaped && depth > 0:
			depth--
		default:
			class = c == '[' && !escaped
			c = '?'
		}
		escaped = false
		out.WriteRune(c)
	}
	return out.String()
}

// slashStars matches ** with the slashes beside it.
var slashStars = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\\?/)*\*\*(\\?/|\*\*)*`) })

// matchesCut reports whether a glob of mcpGlob may match a name of which only the beginning and the
// end are known.
func matchesCut(glob, begin, end string) bool {
	words, ok := expandBraces([]byte(glob), slices.Repeat([]bool{true}, len(glob)))
	if words == nil {
		words = []string{glob}
	}
	return !ok || slices.ContainsFunc(words, func(word string) bool {
		first := 0 // the shortest part of word that matches begin
		for first <= len(word) && !config.Match(word[:first], begin) {
			first++
		}
		last := len(word) // the shortest part that matches end
		for last >= 0 && !config.Match(word[last:], end) {
			last--
		}
		// A star may match in both parts.
		return first <= len(word) && last >= 0 && first <= last+1 || strings.ContainsAny(word, "{}\x00")
	})
}

// Tool decides a call of a dynamic tool. No allow rule matches a name that Codex uses itself.
func (s *Set) Tool(name string) Match { return s.decideTool(name, matchTool(name)) }

// matchTool returns how surely a rule matches a dynamic tool, or a tool of Codex.
//
// Measured with Codex 0.169: most models have the version of spawn_agent that is called with a namespace in front,
// "collaborationspawn_agent", which the user's configuration may change. So a rule for spawn_agent may mean it, too.
func matchTool(name string) func(*rule) certainty {
	reserved := name == "" || name == "shell" || name == "file" || name == "mcp" || strings.HasPrefix(name, "mcp__")
	flat := flatName(name)
	spawns := !reserved && strings.HasSuffix(name, spawnAgent)
	return func(r *rule) certainty {
		switch pattern := r.source.Tool; {
		case !reserved && config.Match(pattern, name):
			return certainMatch
		case config.Match(pattern, name), config.Match(pattern, flat), spawns && config.Match(pattern, spawnAgent):
			return possibleMatch
		}
		return noMatch
	}
}

const spawnAgent = "spawn_agent"

// flatName returns a name without slashes, which * does not match.
func flatName(name string) string { return strings.ReplaceAll(name, "/", "_") }

// decideTool decides a tool by name. Tools run in no sandbox, so allow rules with escalated do not
// apply to them.
func (s *Set) decideTool(name string, match func(r *rule) certainty) Match {
	return s.decideToolAt(Sandboxed, name, match)
}

// AgentCall says what other methods decide about a call of an agent: Shell a command, Files changed files.
type AgentCall struct{ Command, Files bool }

// AgentTool decides a tool of an agent, which is outside of every sandbox: only an allow rule with
// escalated applies to it. A rule that counts for the command and the files of the call, such as one for all
// tools, counts there alone.
func (s *Set) AgentTool(name string, call AgentCall) Match {
	match := matchTool(name)
	return s.decideToolAt(Escalated, name, func(r *rule) certainty {
		c := match(r)
		if c == certainMatch && (call.Command || call.Files) && (r.shell || !call.Command) && (r.file || !call.Files) {
			return decidedElsewhere
		}
		return c
	})
}

func (s *Set) decideToolAt(e Escalation, name string, match func(r *rule) certainty) Match {
	m := s.decide(e, func(l *layer) iter.Seq[int] { return slices.Values(l.tools) }, match)
	if m.Decision != None {
		m.setPart(name)
	}
	return m
}

// unseenTools are names of Codex's tools for which a rule would do nothing, and what to write
// instead. Measured with Codex 0.169: for the first five no PreToolUse hook runs; the others reach
// the hook under another name.
var unseenTools = []struct{ name, hint string }{
	{"write_stdin", `write a rule for the command that reads the input, such as command = "python3 **"`},
	{"exec", `name the tools that its program calls, such as tool = "shell"`},
	{"wait", `name the tools that the program calls, such as tool = "shell"`},
	{"web_search", `set web_search = "disabled" in Codex's configuration`},
	{"image_generation", `set features.image_generation = false in Codex's configuration`},

	{"Bash", `write tool = "shell"`},
	{"exec_command", `write tool = "shell"`},
	{"shell_command", `write tool = "shell"`},
	{"local_shell", `write tool = "shell"`},
	{"container.exec", `write tool = "shell"`},
	{"apply_patch", `write tool = "file"`},

	{"close_agent", `write tool = "*close_agent"; Codex puts the namespace before the name`},
	{"followup_task", `write tool = "*followup_task"; Codex puts the namespace before the name`},
	{"interrupt_agent", `write tool = "*interrupt_agent"; Codex puts the namespace before the name`},
	{"list_agents", `write tool = "*list_agents"; Codex puts the namespace before the name`},
	{"resume_agent", `write tool = "*resume_agent"; Codex puts the namespace before the name`},
	{"send_input", `write tool = "*send_input"; Codex puts the namespace before the name`},
	{"send_message", `write tool = "*send_message"; Codex puts the namespace before the name`},
	{"wait_agent", `write tool = "*wait_agent"; Codex puts the namespace before the name`},
}

// unseenTool returns an unseen tool that the pattern of a rule names, and what to write instead; ""
// if there is none. A pattern with * or ? may also match other tools: see Unseen.
func unseenTool(pattern string) (name, hint string) {
	if strings.ContainsAny(pattern, "*?") {
		return "", ""
	}
	for _, tool := range unseenTools {
		if config.Match(pattern, tool.name) {
			return tool.name, tool.hint
		}
	}
	return "", ""
}

// Unseen returns the unseen tools that the wildcards of a rule's tool match; the rule does nothing
// for these. It returns nil for a pattern that starts with *, which means no tool in particular.
func Unseen(pattern string) []string {
	var names []string
	if !strings.ContainsAny(pattern, "*?") || strings.HasPrefix(pattern, "*") {
		return nil
	}
	for _, tool := range unseenTools {
		if config.Match(pattern, tool.name) {
			names = append(names, tool.name)
		}
	}
	slices.Sort(names)
	return names
}
