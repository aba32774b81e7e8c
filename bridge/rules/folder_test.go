package rules_test

import (
	"errors"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

// The relative program of a rule is in the workspace, in whatever folder a line runs.
func TestRelativePrograms(t *testing.T) {
	s := compile(t, []config.Rule{
		{Command: "./scripts/*.sh **", Decision: "allow"}, {Command: "vendor/run", Decision: "allow"}, {Command: "../up", Decision: "allow"},
		{Command: "/opt/run", Decision: "allow"}, {Command: "go **", Decision: "allow"}, {Command: "cd **", Decision: "allow"},
		{Command: "bash scripts/build.sh **", Decision: "allow"}, {Command: "find **", Decision: "allow"}, {Command: "fd **", Decision: "allow"},
		{Command: "touch *", Decision: "allow"},
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
		{"/w/vendor", "/opt/run", true},
		{"/w/vendor", "go test ./...", true},
		{"/writable/sub", "go test ./...", true},
		{"/other", "/opt/run", false},
		{"/other", "go test ./...", false},
		{"/", "go test ./...", false},
		{"", "go test ./...", false},
		{"/w", "cd vendor && ./run", false},
		{"/w", "cd . ; ./scripts/a.sh", false},
		{"/w", "bash -c './scripts/a.sh'", true},
		{"/w/vendor", "bash -c './scripts/a.sh'", false},
		{"/w", "nohup ./scripts/a.sh", true},
		{"/w/vendor", "nohup ./scripts/a.sh", false},
		{"/w", "bash scripts/build.sh x", true},
		{"/w/vendor", "bash scripts/build.sh x", false},
		{"/other", "bash scripts/build.sh x", false},
		{"/w", "cd vendor && bash scripts/build.sh x", false},
		{"/w", "find vendor -exec ./scripts/a.sh ';'", true},
		{"/w", "find vendor -execdir ./scripts/a.sh ';'", false},
		{"/w", "find vendor -execdir bash scripts/build.sh ';'", false},
		{"/w", "find vendor -exec touch '{}' +", true},
		{"/w", "find vendor -ok touch '{}' + /other ';'", false},
		{"/w", "fd -H x", true},
		{"/w", "fd -Hx rm", false},
	} {
		m := s.Shell(tt.line, "bash", rules.Sandboxed, rules.Dirs{Workspace: "/w", Roots: []string{"/writable"}, Cwd: tt.cwd})
		if (m.Decision == rules.Allow) != tt.allowed {
			t.Errorf("%s in %q: %s", tt.line, tt.cwd, printed(m))
		}
	}
	for _, cwd := range []string{"/w", "/"} {
		if m := s.Shell("./scripts/a.sh", "bash", rules.Sandboxed, rules.Dirs{Cwd: cwd}); m.Decision == rules.Allow {
			t.Errorf("without a workspace, in %s: %s", cwd, printed(m))
		}
	}
}

// A redirection needs a rule for the resolved file, and is allowed only inside the sandbox.
func TestRedirectsOfAllowed(t *testing.T) {
	s := compile(t, []config.Rule{
		{Command: "cat **", Decision: "allow"}, {Command: "cat **", Decision: "allow", Escalated: true}, {Command: "cd **", Decision: "allow"},
		{Path: "/w/.env", Decision: "deny"}, {Path: "/w/**", Decision: "allow"}, {Path: "/w/**", Decision: "allow", Escalated: true},
	})
	links := rules.Dirs{Workspace: "/w", Cwd: "/w/sub", Readings: func(path string) ([]string, error) {
		switch path {
		case "/w/sub/link":
			return []string{path, "/etc/passwd"}, nil
		case "/w/sub/gone":
			return []string{path}, errors.New("gone")
		case "/w/sub/env":
			return []string{path, "/w/.env"}, nil
		case "/w/sub/chain": // its link leads to a link
			return []string{path, "/w/.env", "/w/plain"}, nil
		case "/w/sub/round":
			return []string{path, "/etc/round", "/w/plain"}, nil
		}
		return []string{path}, nil
	}}
	for line, want := range map[string]rules.Decision{
		"cat a > b":              rules.Allow,
		"cat a >> /w/b 2> c":     rules.Allow,
		"cat < a":                rules.Allow,
		"cat < /etc/passwd":      rules.None,
		"cat a > link":           rules.None,
		"cat a > gone":           rules.Deny, // the link can't be resolved
		"cat a > env":            rules.Deny,
		"cat a > chain":          rules.Deny,
		"cat a > round":          rules.None,
		"cat a > /etc/b":         rules.None,
		"cat a > ../.env":        rules.Deny,
		"cat < /w/.env":          rules.None,
		"cat < ../a":             rules.None, // behind a link, .. means another folder
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
		t.Errorf("outside the sandbox: %s", printed(m))
	}
	if m := s.Shell("cat a > /dev/null", "bash", rules.Escalated, links); m.Decision != rules.Allow {
		t.Errorf("outside the sandbox, to /dev/null: %s", printed(m))
	}
}

// Measured: zsh drops a backslash at the end of a text, and a $ before one of ~ ^ =.
func TestCharactersThatZshDrops(t *testing.T) {
	s := compile(t, []config.Rule{{Command: "touch **", Decision: "deny"}})
	for _, line := range []string{`touch\\`, `'touch'$~ x`, `'touch'$^`, `"touch"$= x`, `true; touch\\`} {
		for shell, want := range map[string]rules.Decision{"zsh": rules.Deny, "": rules.Deny, "bash": rules.None} {
			if m := s.Shell(line, shell, rules.Sandboxed, rules.Dirs{}); m.Decision != want {
				t.Errorf("%s: %s: %s", shell, line, printed(m))
			}
		}
	}
}
