package rules_test

import (
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

// A shell that reads its input is unreadable, also if a relative name leads to the input.
func TestScriptsThatAreInput(t *testing.T) {
	s := compile(t, []config.Rule{{Command: "git push **", Decision: "deny"}})
	for line, want := range map[string]rules.Decision{
		"cd /dev && bash stdin <<< 'git push'":               rules.Deny,
		"cd / && bash dev/stdin <<< 'git push'":              rules.Deny,
		"cd /; bash DEV/STDIN <<< 'git push'":                rules.Deny,
		"bash ../../../../../../dev/stdin <<< 'git push'":    rules.Deny,
		"bash x/../../../../dev/stdin <<< 'git push'":        rules.Deny,
		"bash ../../../../../../dev/shm/x":                   rules.Deny,
		"bash /dev/shm/x":                                    rules.Deny,
		"bash /DEV/shm/x":                                    rules.Deny,
		"cd /proc/self/fd && sh 0 <<< 'git push'":            rules.Deny,
		"cd /dev; . ./stdin <<< 'git push'":                  rules.Deny,
		"cd /dev; source fd/0 <<< 'git push'":                rules.Deny,
		"cd /dev; bash shm/x":                                rules.Deny,
		"env -C /dev bash shm/x":                             rules.Deny,
		"cd $x; bash ../fd/0":                                rules.Deny,
		"cd $x; bash ../shm/x":                               rules.None,
		"f() { . ./stdin; }; cd /dev; f <<< 'git push'":      rules.Deny,
		"X='\n git push' bash ../../../../proc/self/environ": rules.Deny,
		"cd /proc/self; X='\n git push' bash environ":        rules.Deny,
		`bash "$x/stdin" <<< 'git push'`:                     rules.Deny,
		`bash "$x/0" <<< 'git push'`:                         rules.Deny,
		`bash "$x/.." <<< 'git push'`:                        rules.Deny,
		`bash "$x" <<< 'git push'`:                           rules.Deny,
		"bash script.sh":                                     rules.None,
		"bash stdin.sh":                                      rules.None,
		"bash 1.sh":                                          rules.None,
		"bash dev/setup.sh":                                  rules.None,
		"bash ../setup.sh":                                   rules.None,
		"bash ../dev/setup.sh":                               rules.None,
		"cd sub && bash ../setup.sh":                         rules.None,
		"cd sub && bash ../dev/setup.sh":                     rules.None,
		"cd /opt; . ./env":                                   rules.None,
		"env -C sub bash setup.sh":                           rules.None,
		"source venv/bin/activate":                           rules.None,
		`source "$HOME/.cargo/env"`:                          rules.None,
		`. "$dir/setup.sh"`:                                  rules.None,
		"cd $x; bash setup.sh":                               rules.None,
		"find . -execdir bash ./setup.sh ';'":                rules.None,
	} {
		for _, shell := range []string{"bash", "zsh"} {
			if m := s.Shell(line, shell, rules.Sandboxed, rules.Dirs{Workspace: "/w/a", Cwd: "/w/a"}); m.Decision != want {
				t.Errorf("%s: %s: %s", shell, line, printed(m))
			}
		}
	}
	for _, c := range []struct {
		cwd, line string
		want      rules.Decision
	}{
		{"/dev", "bash x", rules.Deny}, {"/proc/self", "bash x", rules.Deny}, {"/w", "bash x", rules.None}, {"", "bash x", rules.None},
		{"/dev", "bash ../w/x", rules.Deny}, {"/proc/self", "bash ../w/x", rules.Deny}, {"/w", "bash ../w/x", rules.None}, {"", "bash ../w/x", rules.None},
		{"/", "bash dev/x", rules.Deny}, {"/", "bash w/x", rules.None}, {"/a", "cd ..; bash dev/x", rules.Deny}, {"/w", "bash dev/x", rules.None},
		{"/w", "bash ../dev/x", rules.Deny}, {"/w/a", "bash ../dev/x", rules.None},
	} {
		if m := s.Shell(c.line, "bash", rules.Sandboxed, rules.Dirs{Cwd: c.cwd}); m.Decision != c.want {
			t.Errorf("%s in %q: %s", c.line, c.cwd, printed(m))
		}
	}
}
