package rules_test

import (
	"errors"
	"testing"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/rules"
)

// A relative program of a rule is one of the workspace, wherever a line runs.
func TestRelativePrograms(t *testing.T) {
	s := compile(t, []config.Rule{
		{Command: "./scripts/*.sh **", Decision: "allow"}, {Command: "vendor/run", Decision: "allow"}, {Command: "../up", Decision: "allow"},
		{Command: "/opt/run", Decision: "allow"}, {Command: "go **", Decision: "allow"}, {Command: "cd **", Decision: "allow"},
	})
	for _, tt := range []struct {
		cwd, line string
		allowed   bool
	}{
		{"/w", "./scripts/a.sh x", true},
		{"/w", "scripts/a.sh", true},
		{"/w/vendor", "./scripts/a.sh", false},
		{"/w/vendor", "./run", true},
		{"/w/scripts", "./a.sh", true},
		{"/w/scripts/sub", "./a.sh", false},
		{"/w/scripts/sub", "../a.sh", false},
		{"/w", "./scripts/sub/../a.sh", false},
		{"/w", "../up", true},
		{"/w/vendor", "../up", false},
		{"/", "w/scripts/a.sh", false},
		{"/other", "./scripts/a.sh", false},
		{"/wide", "./scripts/a.sh", false},
		{"", "./scripts/a.sh", false},
		{"/other", "/opt/run", true},
		{"/other", "go test ./...", true},
		{"/w", "cd vendor && ./run", false},
		{"/w", "cd . ; ./scripts/a.sh", false},
		{"/w", "bash -c './scripts/a.sh'", true},
		{"/w/vendor", "bash -c './scripts/a.sh'", false},
		{"/w", "nohup ./scripts/a.sh", true},
		{"/w/vendor", "nohup ./scripts/a.sh", false},
	} {
		m := s.Shell(tt.line, "bash", rules.Sandboxed, rules.Dirs{Workspace: "/w", Cwd: tt.cwd})
		if (m.Decision == rules.Allow) != tt.allowed {
			t.Errorf("%s in %q: %s", tt.line, tt.cwd, printed(m))
		}
	}
	if m := s.Shell("./scripts/a.sh", "bash", rules.Sandboxed, rules.Dirs{Cwd: "/w"}); m.Decision == rules.Allow {
		t.Errorf("without a workspace: %s", printed(m))
	}
}

// A redirection is allowed with the file that it leads to, and inside of the sandbox only.
func TestRedirectsOfAllowed(t *testing.T) {
	s := compile(t, []config.Rule{
		{Command: "cat **", Decision: "allow"}, {Command: "cat **", Decision: "allow", Escalated: true}, {Command: "cd **", Decision: "allow"},
		{Path: "/w/.env", Decision: "deny"}, {Path: "/w/**", Decision: "allow"}, {Path: "/w/**", Decision: "allow", Escalated: true},
	})
	links := rules.Dirs{Workspace: "/w", Cwd: "/w/sub", Resolve: func(path string) (string, error) {
		switch path {
		case "/w/sub/link":
			return "/etc/passwd", nil
		case "/w/sub/gone":
			return "", errors.New("gone")
		}
		return path, nil
	}}
	for line, want := range map[string]rules.Decision{
		"cat a > b":              rules.Allow,
		"cat a >> /w/b 2> c":     rules.Allow,
		"cat < a":                rules.Allow,
		"cat < /etc/passwd":      rules.None,
		"cat a > link":           rules.None,
		"cat a > gone":           rules.None,
		"cat a > /etc/b":         rules.None,
		"cat a > ../.env":        rules.Deny,
		"cat < /w/.env":          rules.None,
		"cat < ../a":             rules.None, // behind a link, .. leads elsewhere
		"cat < link/../a":        rules.None,
		"cd x && cat a > b":      rules.None,
		"bash -c 'cat a > b'":    rules.Allow,
		"bash -c 'cat a > link'": rules.None,
	} {
		if m := s.Shell(line, "bash", rules.Sandboxed, links); m.Decision != want {
			t.Errorf("%s: %s", line, printed(m))
		}
	}
	if m := s.Shell("cat a > b", "bash", rules.Escalated, links); m.Decision != rules.None {
		t.Errorf("outside of the sandbox: %s", printed(m))
	}
	if m := s.Shell("cat a > /dev/null", "bash", rules.Escalated, links); m.Decision != rules.Allow {
		t.Errorf("outside of the sandbox, into nothing: %s", printed(m))
	}
}
