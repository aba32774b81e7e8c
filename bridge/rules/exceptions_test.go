package rules_test

import (
	"slices"
	"testing"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

// A match has each exception that allows a part, also if no rule allows the rest, and no other allow rule.
func TestExceptionsOfAMatch(t *testing.T) {
	set, err := rules.New([][]config.Rule{
		{
			{Command: "release staging", Decision: "allow", Ticket: "OPS-9"}, {Command: "release **", Decision: "deny"},
			{Command: "sign **", Decision: "allow", Escalated: true, Owner: "ada"}, {Command: "make **", Decision: "allow"},
			{Command: "echo **", Decision: "allow", Ticket: "OPS-3"}, {Command: "find **", Decision: "allow", Ticket: "OPS-4"},
			{Command: "rm **", Decision: "ask", Owner: "ada"}, {Path: "/code/proj/out/**", Decision: "allow", Ticket: "OPS-5"},
			{Tool: "mcp__docs__*", Decision: "allow", Owner: "grace"},
		},
		{{Command: "release **", Decision: "allow", Until: "9999-12-31"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	set = set.At(time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC))
	shell := func(line string, e rules.Escalation) rules.Match { return set.Shell(line, "bash", e, dirs) }
	for _, test := range []struct {
		name     string
		match    rules.Match
		decision rules.Decision
		used     []string
	}{
		{"one", shell("release staging", rules.Sandboxed), rules.Allow, []string{"OPS-9: release staging", "9999-12-31: release staging"}},
		{"no exception", shell("make all", rules.Sandboxed), rules.Allow, nil},
		{"behind another", shell("make all && release staging", rules.Sandboxed), rules.Allow, []string{"OPS-9: release staging", "9999-12-31: release staging"}},
		{"in a part", shell("ls && release staging", rules.Sandboxed), rules.None, []string{"OPS-9: release staging", "9999-12-31: release staging"}},
		{"beside a question", shell("rm a; echo b", rules.Sandboxed), rules.Ask, []string{"OPS-3: echo b"}},
		{"in another folder", set.Shell("echo b", "bash", rules.Sandboxed, rules.Dirs{Workspace: "/code/proj", Cwd: "/tmp"}), rules.None, []string{"OPS-3: echo b"}},
		{"command of a command", shell("nice echo b", rules.Sandboxed), rules.Allow, []string{"OPS-3: nice echo b"}},
		{"its rest is not allowed", shell("find -exec ls ';'", rules.Sandboxed), rules.None, []string{"OPS-4: find -exec ls ';'"}},
		{"file of a redirection", shell("make >out/log", rules.Sandboxed), rules.Allow, []string{"OPS-5: /code/proj/out/log"}},
		{"inside", shell("sign a", rules.Sandboxed), rules.None, nil},
		{"outside", shell("sign a", rules.Escalated), rules.Allow, []string{"ada: sign a"}},
		{"a denied command", shell("release production", rules.Sandboxed), rules.Deny, []string{"9999-12-31: release production"}},
		{"a file", set.Files([]rules.Change{{Path: "/code/proj/out/a"}}, rules.Sandboxed, dirs), rules.Allow, []string{"OPS-5: /code/proj/out/a"}},
		{"a file of two", set.Files([]rules.Change{{Path: "/code/proj/out/a"}, {Path: "/code/proj/b"}}, rules.Sandboxed, dirs), rules.None, []string{"OPS-5: /code/proj/out/a"}},
		{"a tool", set.MCP("docs", "read"), rules.Allow, []string{"grace: mcp__docs__read"}},
	} {
		var used []string
		for _, e := range test.match.Exceptions {
			used = append(used, e.Rule.Ticket+e.Rule.Owner+e.Rule.Until+": "+e.Part)
		}
		if test.match.Decision != test.decision || !slices.Equal(used, test.used) {
			t.Errorf("%s: %v by %q", test.name, test.match.Decision, used)
		}
	}
}
