package rules

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge.example/bridge/config"
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
			return // the pattern is not a valid glob
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

// A glob for Codex's spellings has ? for each character that Codex replaces.
func TestMCPGlob(t *testing.T) {
	for pattern, want := range map[string]string{
		"mcp__a-b__*": "mcp__a?b__*", "a,b": "a?b", "{a,b-c}": "{a,b?c}", "{a},b": "{a}?b", "a}b": "a?b", "}a{b,c}": "?a{b,c}", "{a,{b,c},d}e,f": "{a,{b,c},d}e?f",
		`\*\{\,`: "???", `a\bc`: "abc", "[a-z]x": "?x", `[\]a]x`: "?x", "é": "?", "a/**": "a*", "**/a": "*a", `a\/**b`: "a*b",
	} {
		if got := mcpGlob(pattern); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
	if got := mcpName("aZ09_zA-.é/"); got != "aZ09_zA____" {
		t.Errorf("the name is %s", got)
	}
}

// A glob may match a name of which the beginning and the end are known.
func TestMatchesCut(t *testing.T) {
	for _, test := range []struct {
		glob, begin, end string
		want             bool
	}{
		{"a__*", "a__x", "", true},
		{"a__b", "a__b", "", true},
		{"a__b", "a__c", "", false},
		{"a*b", "a", "b", true},
		{"a*b", "a", "c", false},
		{"*", "x", "y", true},
		{"ab", "ab", "ab", false},
		{"ab", "a", "b", true},
		{"a?b", "a", "b", true},
		{"{a,b}c", "b", "c", true},
		{"{a,b}c", "d", "c", false},
		{"{a}c", "d", "c", true}, // not a list: unknown
	} {
		if got := matchesCut(test.glob, test.begin, test.end); got != test.want {
			t.Errorf("%s, %s…%s: %v", test.glob, test.begin, test.end, got)
		}
	}
}

// Rules for the tools of an MCP server apply to Codex's tools for its resources, too, except allow
// rules.
func TestResource(t *testing.T) {
	const read, list = "read_mcp_resource", "list_mcp_resources"
	for _, test := range []struct {
		rules        string // TOOL DECISION, the first first
		tool, server string
		want         Decision
	}{
		{"mcp deny", read, "probe", Deny},
		{"mcp ask", read, "probe", Ask},
		{"mcp allow", read, "probe", None},
		{"mcp__* deny", read, "probe", Deny},
		{"mcp__probe__* deny", read, "probe", Deny},
		{"mcp__probe__* deny", read, " probe\t", Deny},
		{"mcp__probe__* deny", read, "other", None},
		{"mcp__my_probe__* deny", read, "my-probe", Deny},
		{"mcp__probe__* allow", read, "probe", None},
		{"mcp__probe__touch deny", read, "probe", None},
		{"mcp__probe__read* deny", read, "probe", Deny},
		{"mcp__probe__* deny", list, "", Deny},
		{"mcp__prob* deny", list, " ", Deny},
		{"mcp__probe__touch* deny", list, "", None},
		{"mcp_* deny", list, "", Deny},
		{"*__probe__* deny", list, "", Deny},
		{"mcp__probe__** deny", list, "", Deny},
		{"mcp__probe__[a-z]* deny", list, "", Deny},
		{"mcp__probe__{read,list}* deny", list, "", Deny},
		{"spawn_* deny", list, "", None},
		{"mcp__probe__touch deny", list, "", None},
		{"mcp deny", list, "", Deny},
		{"read_mcp_resource deny", read, "probe", Deny},
		{"read_mcp_resource deny", list, "probe", None},
		{"read_mcp_resource allow, mcp deny", read, "probe", Allow},
		{"* deny", read, "probe", Deny},
		{"shell deny", read, "probe", None},
	} {
		var list []config.Rule
		for one := range strings.SplitSeq(test.rules, ", ") {
			tool, decision, _ := strings.Cut(one, " ")
			list = append(list, config.Rule{Tool: tool, Decision: decision})
		}
		set, err := New([][]config.Rule{list})
		if err != nil {
			t.Fatal(err)
		}
		if m := set.Resource(test.tool, test.server); m.Decision != test.want {
			t.Errorf("%s: %s of %q: %v, want %v", test.rules, test.tool, test.server, m.Decision, test.want)
		}
	}
	if !IsResourceTool(read) || IsResourceTool("mcp__probe__read_mcp_resource") {
		t.Error("the names of the tools are wrong")
	}
}

// TestAsks checks that a rule of any layer asks.
func TestAsks(t *testing.T) {
	deny, ask := config.Rule{Tool: "shell", Command: "a", Decision: "deny"}, config.Rule{Tool: "mcp", Decision: "ask"}
	for _, test := range []struct {
		layers [][]config.Rule
		want   bool
	}{
		{nil, false},
		{[][]config.Rule{{deny}}, false},
		{[][]config.Rule{{ask}}, true},
		{[][]config.Rule{{deny, ask}}, true},
		{[][]config.Rule{{deny}, {}, {ask}}, true},
		{[][]config.Rule{{deny}, {deny}}, false},
	} {
		set, err := New(test.layers)
		if err != nil {
			t.Fatal(err)
		}
		if got := set.Asks(); got != test.want {
			t.Errorf("%+v: %v", test.layers, got)
		}
	}
}
