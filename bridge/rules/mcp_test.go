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
				{server, tool}, {mcpName(server), mcpName(tool)}, {mcpName(server) + hash, mcpName(tool)}, {mcpName(server), mcpName(tool) + hash}, {mcpName(server)[:1] + hash, mcpName(tool)}, atHook(joinedName(server, tool)),
			} {
				if m := set.MCP(name[0], name[1]); m.Decision != Deny {
					t.Fatalf("%s denies %q %q, but not %q", pattern, server, tool, name)
				}
			}
		}
	})
}

// atHook returns the server and the tool as the bridge reads them from a name at the hook.
func atHook(name string) [2]string {
	server, tool, _ := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__")
	return [2]string{server, tool}
}

// These names were measured with Codex 0.169. A deny rule with the names of the server and its tool, or with
// a glob for either, denies them.
func TestDenyRulesMatchJoinedNames(t *testing.T) {
	for _, test := range []struct{ server, tool, name string }{
		{"a1", "t7-", "mcp__a1__t7_"},
		{"a1", "t8__x", "mcp__a1__t8__x"},
		{"a1", "_t2", "mcp__a1__t2"},
		{"a1", "-t3", "mcp__a1__t3"},
		{"a1", " t4", "mcp__a1__t4"},
		{"a1", "__t5", "mcp__a1__t5"},
		{"a1", "u3--x", "mcp__a1__u3__x"},
		{"a1", "u5/x", "mcp__a1__u5_x"},
		{"a1", "u6-_x", "mcp__a1__u6__x"},
		{"a1", "-_-", "mcp__a1__"},
		{"a2-", "_w1", "mcp__a2__w1"},
		{"a3_", "_w2", "mcp__a3__w2"},
		{"a4__", "w3", "mcp__a4__w3"},
		{"_a5", "w4", "mcp___a5__w4"},
		{"-a6", "_w5", "mcp___a6__w5"},
		{"a7-_", "w6", "mcp__a7__w6"},
		{"_", "w9", "mcp__w9"},
		{"__", "_w10", "mcp__w10"},
		{"a9__b", "w8", "mcp__a9__b__w8"},
		{"b2--c", "_w11", "mcp__b2__c__w11"},
		{"b4:x", "w12", "mcp__b4_x__w12"},
		{"b5@", "_w13", "mcp__b5__w13"},
		{"b6/", "_w14", "mcp__b6__w14"},
	} {
		if got := joinedName(test.server, test.tool); got != test.name {
			t.Errorf("%q of %q is %s, measured %s", test.tool, test.server, got, test.name)
		}
		for _, pattern := range []string{test.name, "mcp__" + test.server + "__" + test.tool, "mcp__" + test.server + "__*", "mcp__*__" + test.tool} {
			set, err := New([][]config.Rule{{{Tool: pattern, Decision: "deny"}}})
			if err != nil {
				t.Fatal(err)
			}
			hook := atHook(test.name)
			if pattern = set.layers[0].rules[0].source.Tool; set.MCP(hook[0], hook[1]).Decision != Deny || set.MCP(test.server, test.tool).Decision != Deny {
				t.Errorf("%q does not deny %q of %q, at the hook %s", pattern, test.tool, test.server, test.name)
			}
			// A tool of the server _ may have each of these names.
			if m := set.MCP("other", "tool"); m.Decision == Deny && strings.Trim(test.server, "_") != "" {
				t.Errorf("%q denies another server's tool", pattern)
			}
		}
	}
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
