package rules_test

import (
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

// A rule for any command surely matches a command with an unknown name. So it decides before a
// later rule, which only might match.
func TestRuleForAnyCommandIsSureOfUnknownName(t *testing.T) {
	s := compile(t, []config.Rule{{Command: "**", Decision: "ask"}, {Command: "git push", Decision: "deny"}})
	for line, want := range map[string]rules.Decision{"$x push": rules.Ask, "git push": rules.Ask, "A=1": rules.Ask} {
		if m := s.Shell(line, "bash", rules.Sandboxed, dirs); m.Decision != want {
			t.Errorf("%s: %s", line, printed(m))
		}
	}
}

// Options are skipped behind the name of a command, not in its place.
func TestCommandNamedLikeAnOption(t *testing.T) {
	s := compile(t, []config.Rule{{Command: "git push", Decision: "deny"}})
	for line, want := range map[string]rules.Decision{"git -C x push": rules.Deny, "git +C push": rules.Deny, "+C git push": rules.None} {
		if m := s.Shell(line, "bash", rules.Sandboxed, dirs); m.Decision != want {
			t.Errorf("%s: %s", line, printed(m))
		}
	}
}

// A path that starts with ".." is relative to the folder of the command.
func TestRedirectionsThatGoUp(t *testing.T) {
	s := compile(t, []config.Rule{{Path: "/q/a", Decision: "deny"}})
	d := rules.Dirs{Workspace: "/w", Cwd: "/w/x"}
	for target, want := range map[string]rules.Decision{
		"../../q/a": rules.Deny, "./../../q/a": rules.Deny, "/../q/a": rules.Deny, "//q/a": rules.Deny,
		"../a": rules.None, "./../a": rules.None, "/../a": rules.None, ".//../a": rules.None,
		"y/../a": rules.Deny, "./y/../a": rules.Deny, // y may be a link
	} {
		if m := s.Shell("echo > "+target, "bash", rules.Sandboxed, d); m.Decision != want {
			t.Errorf("%s: %s", target, printed(m))
		}
	}
}

// An allow rule with a relative path does not apply in an unknown workspace.
func TestProgramsOfUnknownWorkspace(t *testing.T) {
	s := compile(t, []config.Rule{{Command: "w/run", Decision: "allow"}, {Command: "./run", Decision: "allow"}})
	for name, test := range map[string]struct {
		dirs rules.Dirs
		want rules.Decision
	}{
		"the workspace":     {rules.Dirs{Workspace: "/w", Cwd: "/w"}, rules.Allow},
		"not known":         {rules.Dirs{Cwd: "/w", Roots: []string{"/w"}}, rules.None},
		"no folder known":   {rules.Dirs{Roots: []string{"/w"}}, rules.None},
		"the folder is not": {rules.Dirs{Workspace: "/w"}, rules.None},
	} {
		if m := s.Shell("./run", "bash", rules.Sandboxed, test.dirs); m.Decision != test.want {
			t.Errorf("%s: %s", name, printed(m))
		}
	}
}
