package rules_test

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

// FoldCase agrees with strings.EqualFold, and with strings.ToLower on ASCII.
func TestFoldCase(t *testing.T) {
	names := []string{"", "sudo", "SUDO", "\u017fudo", "kill", "\u212aILL", "Straße", "STRAßE", "STRA\u1e9eE", "Ünï", "üNÏ", "a\xff", "A\xff", "i", "İ", "ı", "ΣΑΣ", "σας"}
	for _, a := range names {
		for _, b := range names {
			if got, want := rules.FoldCase(a) == rules.FoldCase(b), strings.EqualFold(a, b); got != want {
				t.Errorf("%q and %q are equal: %v, want %v", a, b, got, want)
			}
		}
	}
	if got := rules.FoldCase(".GIT/Hooks[0]*"); got != ".git/hooks[0]*" {
		t.Errorf("ASCII: %q", got)
	}
}

// A part of a name is folded like the whole name, so that a folder is a prefix of its files.
func TestFoldCaseOfParts(t *testing.T) {
	for c := byte(0); c < 0x80; c++ {
		for _, rest := range []string{"x", "/\u00e9", "\u017f", "\x80"} {
			if got, want := rules.FoldCase(string(c)+rest), rules.FoldCase(string(c))+rules.FoldCase(rest); got != want {
				t.Errorf("%q before %q: %q, want %q", c, rest, got, want)
			}
		}
	}
}

// A disk that ignores case finds a program by each of these names.
func TestNamesInAnyCase(t *testing.T) {
	s := compile(t, []config.Rule{{Command: "sudo **", Decision: "deny"}, {Command: "kill* **", Decision: "deny"}})
	for line, want := range map[string]rules.Decision{
		"SUDO x":           rules.Deny,
		"\u017fudo x":      rules.Deny,
		"./\u017fUDO.EXE":  rules.Deny,
		"\u212aillall x":   rules.Deny,
		"env \u017fudo x":  rules.Deny,
		"\u017fh -c SUDO":  rules.Deny, // sh
		"echo \u017fudo":   rules.None,
		"\u00dfudo x":      rules.None,
		"\u017fudoedit x":  rules.None,
		"echo x \u212aill": rules.None,
	} {
		if m := s.Shell(line, "zsh", rules.Sandboxed, dirsOfW); m.Decision != want {
			t.Errorf("%q: %s", line, printed(m))
		}
	}
}
