package rules_test

import (
	"runtime/debug"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

// 64 KiB of "(" made the parser use 256 MiB of stack. A goroutine that exceeds the limit ends the
// process, so this test crashes if the bound is missing.
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
}

// A line that is nested too deeply is not read, even if it is harmless.
func TestDeepLinesAreNotRead(t *testing.T) {
	s := compile(t, []config.Rule{{Command: "git push **", Decision: "deny"}})
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
		"64 words":                {"ls" + strings.Repeat(" x", 63), rules.Allow},
		"65 words":                {"ls" + strings.Repeat(" x", 64), rules.Allow},
		"4096 words":              {"ls" + strings.Repeat(" x", 4095), rules.Allow},
		"4097 words":              {"ls" + strings.Repeat(" x", 4096), rules.Deny},
		"2000 commands":           {strings.Repeat("ls;", 2000), rules.Allow},
		"2001 commands":           {strings.Repeat("ls;", 2001), rules.Deny},
		"2000 that are not plain": {strings.Repeat("ls;", 1999) + "(ls)", rules.None},
		"2001 that are not plain": {strings.Repeat("ls;", 2000) + "(ls)", rules.Deny},
		"a text behind 2000":      {strings.Repeat("ls;", 1999) + "eval ''", rules.None},
		"a text behind 2001":      {strings.Repeat("ls;", 2000) + "eval ''", rules.Deny},
		"128 words of a wrapper":  {"strace" + strings.Repeat(" x", 127), rules.None},
		"129 words of a wrapper":  {"strace" + strings.Repeat(" x", 128), rules.Deny},
		// Each eval makes the reader read the rest again: 256 KiB in total.
		"texts of 256 KiB":  {"eval     eval eval eval ls " + strings.Repeat("x", 52418-3), rules.None},
		"one more byte":     {"eval      eval eval eval ls " + strings.Repeat("x", 52418-3), rules.Deny},
		"sudo on sudo":      {strings.Repeat("sudo ", 100) + "-n 'ls -l'", rules.None},
		"a pipeline of 100": {"ls" + strings.Repeat(" | ls", 100), rules.Allow},
	} {
		if m := s.Shell(c.text, "bash", rules.Sandboxed, dirs); m.Decision != c.want {
			t.Errorf("%s: %v because %s", name, m.Decision, m.Why)
		}
	}
}

// No allow rule matches a command with more words than the reader reads.
func TestTooManyWordsAreNotAllowed(t *testing.T) {
	s := compile(t, []config.Rule{{Command: "**", Decision: "allow"}})
	for n, want := range map[int]rules.Decision{4096: rules.Allow, 4097: rules.None} {
		if m := s.Shell("ls"+strings.Repeat(" x", n-1), "bash", rules.Sandboxed, dirs); m.Decision != want {
			t.Errorf("%d words: %s", n, printed(m))
		}
	}
}

// A rule that allows a wrapper does not allow an unknown program behind it.
func TestUnknownCommandsOfWrappersAreNotAllowed(t *testing.T) {
	s := compile(t, []config.Rule{{Command: "parallel **", Decision: "allow"}, {Command: "sudo **", Decision: "allow"}})
	for line, want := range map[string]rules.Decision{
		"parallel ls": rules.None, "sudo -s": rules.None, "sudo -n ls": rules.Allow, "sudo -n bash": rules.None, "sudo -n nice bash": rules.None, "sudo -n nice ls": rules.Allow,
	} {
		if m := s.Shell(line, "bash", rules.Sandboxed, dirs); m.Decision != want {
			t.Errorf("%s: %s", line, printed(m))
		}
	}
}

// A dynamic tool can have the name of another tool, which an allow rule may mean.
func TestToolsNamedLikeOthersAreNotAllowed(t *testing.T) {
	s := compile(t, []config.Rule{{Tool: "*", Decision: "allow"}})
	for name, want := range map[string]rules.Decision{
		"": rules.None, "shell": rules.None, "file": rules.None, "mcp": rules.None, "mcp__a__b": rules.None, "lookup": rules.Allow,
	} {
		if m := s.Tool(name); m.Decision != want {
			t.Errorf("%q: %s", name, printed(m))
		}
	}
}

// A word that is too long for a glob might match it. A plain word of a rule is compared at any
// length.
func TestWordsTooLongForGlobs(t *testing.T) {
	s := compile(t, []config.Rule{
		{Command: "npm pub*", Decision: "deny"}, {Command: "pub*", Decision: "deny"}, {Command: "cargo publish", Decision: "deny"}, {Command: "cargo", Decision: "deny"},
	}, []config.Rule{{Command: "make pub*", Decision: "allow"}, {Command: "make *ish", Decision: "allow"}})
	for _, test := range []struct {
		name, line string
		want       rules.Decision
	}{
		{"4096 bytes", "npm " + strings.Repeat("x", 4096), rules.None},
		{"4097 bytes", "npm " + strings.Repeat("x", 4097), rules.Deny},
		{"4097 bytes that match", "npm pub" + strings.Repeat("x", 4094), rules.Deny},
		{"a plain word", "cargo " + strings.Repeat("x", 4097), rules.None},
		{"a name of 4096 bytes", strings.Repeat("x", 4096), rules.None},
		{"a name of 4097 bytes", strings.Repeat("x", 4097), rules.Deny},
		{"4096 bytes that are allowed", "make pub" + strings.Repeat("x", 4093), rules.Allow},
		{"4097 bytes that would be", "make pub" + strings.Repeat("x", 4094), rules.None},
		{"4097 bytes with that end", "make " + strings.Repeat("x", 4094) + "ish", rules.None},
	} {
		if m := s.Shell(test.line, "bash", rules.Sandboxed, dirs); m.Decision != test.want {
			t.Errorf("%s: %s", test.name, printed(m)[:min(80, len(printed(m)))])
		}
	}
}

// A workspace can have rules that are slow to match.
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
