package rules

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge/bridge/config"
)

// A deny rule that matches the names of a server and a tool denies each spelling that Codex may give
// them.
func TestDenyRulesMatchSpellingsOfCodex(t *testing.T) {
	pieces := []string{
		"a", "b", "-", ".", "_", "__", "*", "?", "[ab]", "[^a]", "[a-z]", "[-.]", "[!a]", `[\]a]`, "{a,b-c}", "{a-,{b,c.d}}", "{a,[b}]}",
		`\*`, `\-`, `\{`, `\\`, `\/`, "é", "/", " ", "**", "/**", "**/", "}", "]", ",",
	}
	chars := []string{"a", "b", "c", "d", "-", ".", "_", "*", "é", "{", "}", "]", ",", " ", `\`, "/"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(from []string, name string) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(from), 1, 4).Draw(t, name), "")
		}
		pattern := "mcp__" + draw(pieces, "server glob") + "__" + draw(pieces, "tool glob")
		set, err := New([][]config.Rule{{{Tool: pattern, Decision: "deny"}}})
		if err != nil {
			t.Skip()
		}
		const hash = "_0123456789ab"
		for range 50 {
			server, tool := draw(chars, "server"), draw(chars, "tool")
			if !config.Match(pattern, "mcp__"+server+"__"+tool) {
				continue
			}
			for _, name := range [][2]string{
				{server, tool}, {mcpName(server), mcpName(tool)}, {mcpName(server) + hash, mcpName(tool)}, {mcpName(server), mcpName(tool) + hash}, {mcpName(server)[:1] + hash, mcpName(tool)},
			} {
				if m := set.MCP(name[0], name[1]); m.Decision != Deny {
					t.Fatalf("%s denies %q %q, but not %q", pattern, server, tool, name)
				}
			}
		}
	})
}
