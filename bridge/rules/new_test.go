package rules_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

func TestNewRefusesRulesWithoutEffect(t *testing.T) {
	origin := config.Origin{Layer: config.User, File: "/x/config.toml", Line: 7, Column: 3}
	for _, c := range []struct {
		rule config.Rule
		want string // "" if the rule is valid
	}{
		{config.Rule{Decision: "deny"}, "has no tool, command or path"},
		{config.Rule{Command: "  ", Decision: "deny"}, "has no tool, command or path"},
		{config.Rule{Command: "ls", Decision: "maybe"}, "not one of"},
		{config.Rule{Tool: "mcp", Command: "ls", Decision: "deny"}, "would match nothing"},
		{config.Rule{Tool: "mcp__fs__*", Path: "/etc/**", Decision: "deny"}, "would match nothing"},
		{config.Rule{Command: "cp **", Path: "/tmp/**", Decision: "allow"}, "write two rules"},
		{config.Rule{Tool: "shell", Path: "/tmp/**", Decision: "allow"}, "can't allow a shell command"},
		{config.Rule{Tool: "shell", Path: "/tmp/**", Decision: "deny"}, ""},
		{config.Rule{Tool: "shell", Command: "git push **", Path: "${workspace}/**", Decision: "deny"}, ""},
		{config.Rule{Tool: "*", Command: "ls", Decision: "allow"}, ""},
		{config.Rule{Tool: "file", Path: "/tmp/**", Decision: "allow"}, ""},
		{config.Rule{Tool: "write_stdin", Decision: "deny"}, "write_stdin, so the rule would do nothing for it; write a rule for the command"},
		{config.Rule{Tool: "{view_image,write_stdin}", Decision: "ask"}, "write_stdin"},
		{config.Rule{Tool: "write[_]stdin", Decision: "deny"}, "write_stdin"},
		{config.Rule{Tool: `write\_stdin`, Decision: "deny"}, "write_stdin"},
		{config.Rule{Tool: "exec", Decision: "deny"}, "name the tools that its program calls"},
		{config.Rule{Tool: "web_search", Decision: "deny"}, `web_search = "disabled"`},
		{config.Rule{Tool: "Bash", Decision: "allow"}, `write tool = "shell"`},
		{config.Rule{Tool: "apply_patch", Decision: "deny"}, `write tool = "file"`},
		{config.Rule{Tool: "send_input", Decision: "deny"}, `write tool = "*send_input"`},
		{config.Rule{Tool: "*send_input", Decision: "deny"}, ""},
		{config.Rule{Tool: "write_*", Decision: "deny"}, ""},
		{config.Rule{Tool: "{view_image,spawn_agent}", Decision: "deny"}, ""},
	} {
		c.rule.Origin = origin
		_, err := rules.New([][]config.Rule{{c.rule}})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%+v: %v", c.rule, err)
		case c.want != "":
			var fault *config.Error
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "/x/config.toml:7:3: policy.rule") || !errors.As(err, &fault) {
				t.Errorf("%+v: %v", c.rule, err)
			}
		}
	}
}

func TestUnknownFolders(t *testing.T) {
	s := compile(t, []config.Rule{
		{Path: "${workspace}/keys/**", Decision: "deny"},
		{Path: "${workspace}/**", Decision: "allow"},
		{Path: "~/notes/**", Decision: "ask"},
	})
	for _, c := range []struct {
		file string
		dirs rules.Dirs
		want rules.Decision
	}{
		{"/code/a", rules.Dirs{Workspace: "/code", Home: "/home/ada"}, rules.Allow},
		{"/code/keys/a", rules.Dirs{Workspace: "/code", Home: "/home/ada"}, rules.Deny},
		{"/code/a", rules.Dirs{Home: "/home/ada"}, rules.Deny},
		{"/other/a", rules.Dirs{Workspace: "/code"}, rules.Ask},
		// ${workspace} never means these folders.
		{"/home/ada/.bashrc", rules.Dirs{Workspace: "/home/ada", Home: "/home/ada"}, rules.None},
		{"/home/ada/.bashrc", rules.Dirs{Workspace: "/home", Home: "/home/ada"}, rules.None},
		{"/etc/passwd", rules.Dirs{Workspace: "/", Home: "/home/ada"}, rules.None},
		{"/keys/x", rules.Dirs{Workspace: "/", Home: "/home/ada"}, rules.Deny},
		{"/home/ada/p/x", rules.Dirs{Workspace: "/home/ada/p", Home: "/home/ada"}, rules.Allow},
	} {
		if m := s.Files([]rules.Change{{Path: c.file}}, rules.Sandboxed, c.dirs); m.Decision != c.want {
			t.Errorf("%s in %+v: %s", c.file, c.dirs, printed(m))
		}
	}
	if m := s.Files(nil, rules.Sandboxed, dirs); m.Decision != rules.Deny {
		t.Errorf("no paths: %s", printed(m))
	}
}

func TestNoRules(t *testing.T) {
	s := compile(t)
	if s.Len() != 0 || s.Shell("ls", "bash", rules.Sandboxed, dirs).Decision != rules.None || s.MCP("a", "b").Decision != rules.None {
		t.Error("a set without rules decides something")
	}
}

func TestMatchNamesItsRule(t *testing.T) {
	origin := config.Origin{Layer: config.User, File: "/x/config.toml", Line: 7, Column: 3}
	s := compile(t, []config.Rule{{Command: "git push **", Decision: "deny", Reason: "Pushing is done by people.", Origin: origin}})
	m := s.Shell("cd x && git push origin", "bash", rules.Sandboxed, dirs)
	if m.Rule == nil || m.Rule.Origin != origin || m.Rule.Reason == "" || m.Part != "git push origin" {
		t.Errorf("%+v", m)
	}
}

// A rule with a wildcard is valid, but does nothing for the unseen tools that it matches.
// Codex puts a namespace before the name of spawn_agent for most models.
func TestRuleForSpawnAgent(t *testing.T) {
	for _, test := range []struct {
		decision, name string
		want           rules.Decision
	}{
		{"deny", "spawn_agent", rules.Deny}, {"deny", "collaborationspawn_agent", rules.Deny}, {"ask", "teamspawn_agent", rules.Ask},
		{"allow", "spawn_agent", rules.Allow}, {"allow", "teamspawn_agent", rules.None}, {"deny", "mcp__s__spawn_agent", rules.None}, {"deny", "spawn_agents", rules.None},
	} {
		s := compile(t, []config.Rule{{Tool: "spawn_agent", Decision: test.decision}})
		if got := s.Tool(test.name).Decision; got != test.want {
			t.Errorf("%s %s: %v", test.decision, test.name, got)
		}
	}
}

func TestUnseen(t *testing.T) {
	for pattern, want := range map[string][]string{
		"write_*":       {"write_stdin"},
		"wait*":         {"wait", "wait_agent"},
		"{write,exec}*": {"exec", "exec_command", "write_stdin"},
		"*":             nil, // no tool in particular
		"*_search":      nil,
		"view_*":        nil,
		"write_stdin":   nil, // an error already
	} {
		if got := rules.Unseen(pattern); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", pattern, got, want)
		}
	}
}

func TestLenCountsTheRulesOfAllLayers(t *testing.T) {
	one := config.Rule{Command: "ls", Decision: "allow"}
	if got := compile(t, []config.Rule{one, one}, []config.Rule{one, one, one}).Len(); got != 5 {
		t.Errorf("got %d, want 5", got)
	}
}

func TestNewReportsEachInvalidRule(t *testing.T) {
	_, err := rules.New([][]config.Rule{{{Command: "ls", Decision: "maybe"}, {Command: "ls", Decision: "allow"}, {Decision: "deny"}}})
	if err == nil || !strings.Contains(err.Error(), "not one of") || !strings.Contains(err.Error(), "has no tool, command or path") {
		t.Errorf("got %v", err)
	}
}
