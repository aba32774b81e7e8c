package rules_test

import (
	"runtime/debug"
	"strings"
	"testing"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/rules"
)

// 64 KiB of "(" made the parser use 256 MiB of stack. A goroutine that goes
// beyond the limit ends the process, so whoever breaks the bound sees it here.
func TestDeepNesting(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(16 << 20))
	s := compile(t, []config.Rule{{Command: "git push **", Decision: "deny"}}, []config.Rule{{Command: "**", Decision: "allow"}})
	for _, part := range []string{
		"(", "$(", "{ ", "if ", "! ", "`", "${a:-", "$((", "[[ (", "<(", "((", "while ", "case a in a) ", "\"$(", "a=(", "${a[", "coproc ", "for((", "!(", "$((1?", "$((-", "$((a**",
		"$[", "$((a[", "function f ", "@(", "f()", "[[ ! ", "time ", "a|", "a&&", "$((1+(",
	} {
		for _, shell := range []string{"", "sh", "zsh"} {
			text := strings.Repeat(part, 60000/len(part))
			m := s.Shell(text, "bash", rules.Sandboxed, dirs)
			if shell != "" {
				m = s.Argv([]string{shell, "-c", text}, rules.Sandboxed, dirs)
			}
			if m.Decision == rules.Allow {
				t.Errorf("%s… in %q is allowed", part, shell)
			}
		}
	}
	// What is only deep, and not wrong, is not read either.
	deep := strings.Repeat("( ", 2000) + "ls" + strings.Repeat(" )", 2000)
	if m := s.Shell(deep, "bash", rules.Sandboxed, dirs); m.Decision != rules.Deny {
		t.Errorf("2000 deep: %s", printed(m))
	}
	fair := strings.Repeat("( ", 20) + "ls" + strings.Repeat(" )", 20)
	if m := s.Shell(fair, "bash", rules.Sandboxed, dirs); m.Decision != rules.None {
		t.Errorf("20 deep: %s", printed(m))
	}
}

func TestLimits(t *testing.T) {
	s := compile(t, []config.Rule{{Command: "git push **", Decision: "deny"}}, []config.Rule{{Command: "**", Decision: "allow"}})
	for name, c := range map[string]struct {
		text string
		want rules.Decision
	}{
		"64 KiB":                  {"ls " + strings.Repeat("x", 64<<10-3), rules.Allow},
		"one more":                {"ls " + strings.Repeat("x", 64<<10-2), rules.Deny},
		"4000 words":              {"ls" + strings.Repeat(" x", 4000), rules.Allow},
		"5000 words":              {"ls" + strings.Repeat(" x", 5000), rules.Deny},
		"1000 commands":           {strings.Repeat("ls;", 1000), rules.Allow},
		"3000 commands":           {strings.Repeat("ls;", 3000), rules.Deny},
		"many words of a wrapper": {"strace" + strings.Repeat(" x", 200), rules.Deny},
		"sudo on sudo":            {strings.Repeat("sudo ", 100) + "-n 'ls -l'", rules.None},
		"a pipeline of 100":       {"ls" + strings.Repeat(" | ls", 100), rules.Allow},
	} {
		if m := s.Shell(c.text, "bash", rules.Sandboxed, dirs); m.Decision != c.want {
			t.Errorf("%s: %v because %s", name, m.Decision, m.Why)
		}
	}
}

// Rules that a workspace brings may be made to be slow.
func TestSlowGlobs(t *testing.T) {
	var list []config.Rule
	for range 100 {
		list = append(list, config.Rule{Command: "{a,b}*{a,b}*{a,b}*{a,b}*{a,b}*{a,b}*{a,b}*z " + strings.Repeat("** x ", 50), Decision: "deny"})
	}
	s := compile(t, list)
	for _, text := range []string{strings.Repeat("ab", 2000), strings.Repeat("ab", 30000), "a" + strings.Repeat(" x", 4000), strings.Repeat("$x ", 4000)} {
		s.Shell(text, "bash", rules.Sandboxed, dirs)
	}
}
