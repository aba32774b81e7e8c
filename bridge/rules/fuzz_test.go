package rules_test

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

func FuzzShell(f *testing.F) {
	for _, w := range wrappings {
		f.Add(strings.NewReplacer("%s", "git push", "%q", "'git push'").Replace(w))
	}
	for _, p := range pieces {
		f.Add("git " + p + "; ls " + p)
	}
	for _, text := range []string{"", "(", "((((((((", "`\\`", "$'\\x", "${a[", "<<a <<b", "x=(", "a[$", "\x00", "\xff", "[[ (", "{a,{b,c}", "case x in"} {
		f.Add(text)
	}
	rule := func(command, decision string) config.Rule {
		return config.Rule{Command: command, Decision: decision}
	}
	all := compile(f, []config.Rule{rule("**", "deny")})
	open := compile(f, []config.Rule{rule("**", "allow")})
	one := compile(f, []config.Rule{rule("git push **", "deny")}, []config.Rule{rule("**", "allow")})
	f.Fuzz(func(t *testing.T, command string) {
		for _, e := range escalations {
			if m := all.Shell(command, "bash", e, dirs); m.Decision != rules.Deny || m.Rule == nil {
				t.Errorf("%q is not denied by a rule that denies all: %s", command, printed(m))
			}
		}
		if m := open.Shell(command, "bash", rules.Escalated, dirs); m.Decision != rules.None {
			t.Errorf("%q leaves the sandbox by a plain rule: %s", command, printed(m))
		}
		for _, shell := range []string{"bash", "sh", "zsh", ""} {
			if m := open.Shell(command, shell, rules.Sandboxed, dirs); m.Decision == rules.Allow && (shell == "" || rules.Outside(command) != "") {
				t.Errorf("%q is allowed for the shell %q: %s", command, shell, printed(m))
			}
		}
		// A command that is denied alone is also denied in a shell, and behind another command.
		if one.Shell(command, "bash", rules.Sandboxed, dirs).Decision != rules.Deny {
			return
		}
		if m := one.Argv([]string{"bash", "-c", command}, rules.Sandboxed, dirs); m.Decision != rules.Deny {
			t.Errorf("%q is denied, but not in a shell: %s", command, printed(m))
		}
		if m := one.Shell("ls\n"+command, "bash", rules.Sandboxed, dirs); m.Decision != rules.Deny && len(command) < 1000 {
			t.Errorf("%q is denied, but not in the second line: %s", command, printed(m))
		}
	})
}
