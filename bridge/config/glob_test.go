package config_test

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"
)

func TestNarrower(t *testing.T) {
	for _, tt := range []struct {
		earlier, later string
		want           bool
	}{
		{"gpt-5*", "gpt-5*", true},
		{"gpt-5*", "gpt-5.5", true},
		{"gpt-5*", "gpt-5.6-*", true},
		{"gpt-5*", "gpt-5{.5,-mini}", true},
		{"gpt-5*", "gpt-5?", true},
		{"gpt-5*", "gpt-*", false},
		{"gpt-5*", "gpt-{5,6}*", false},
		{"gpt-5*", "gpt-5/x", false},
		{"gpt-5*", "gpt-5*/x", false},
		{"gpt-5*", "gpt-5**", false},
		{"gpt-5*", "gpt-5[^a]", false},
		{"*", "gpt-5*", true},
		{"*", "a/b", false},
		{"*", "**", false},
		{"**", "a/**/b", true},
		{"a/*", "a/b*", true},
		{"a/*", "a/*", true},
		{"a?", "a?", true},
		{"a?", "ab", true},
		{"a?*", "ab*", false},
		{"x", "y", false},
		{`\*`, "*", false},
	} {
		if got := config.Narrower(tt.earlier, tt.later); got != tt.want {
			t.Errorf("narrower(%q, %q) = %v", tt.earlier, tt.later, got)
		}
	}
}

// The earlier glob matches each name that a narrower one matches.
func TestNarrowerIsSound(t *testing.T) {
	pattern := rapid.StringMatching(`(a|b|/|\*|\?|\[ab\]|\[\^a\]|\{a,b\}|\{a/b,\*\*\}|\\\*){0,6}`)
	name := rapid.StringMatching(`(a|b|/|\*|c){0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		earlier, later := pattern.Draw(t, "earlier"), pattern.Draw(t, "later")
		if rapid.Bool().Draw(t, "star") {
			earlier += "*"
		}
		if !config.Narrower(earlier, later) {
			return
		}
		for range 50 {
			n := name.Draw(t, "name")
			if config.Match(later, n) && !config.Match(earlier, n) {
				t.Fatalf("%q matches %q, %q does not", later, n, earlier)
			}
		}
	})
}

func TestNarrowerKeys(t *testing.T) {
	for _, tt := range []struct {
		earlier, later string
		want           bool
	}{
		{"model", "model", true},
		{"model_*", "model_reasoning_*", true},
		{"features.*", "features.web", true},
		{"features.*", "features.web.on", true},
		{"features", "features.*", true},
		{"features.*", "features", false},
		{"*.on", "a.on", true},
		{"*.on", "a.b.on", false},
		{"*.on", "**.on", false},
		{"a.**.b", "a.b", false},
		{"a.**.b", "a.**.b", true},
		{"*", "a.**", true},
		{"**", "a.b", true},
		{"a*c", "ab.xc", false},
	} {
		if got := config.NarrowerKeys(tt.earlier, tt.later); got != tt.want {
			t.Errorf("narrowerKeys(%q, %q) = %v", tt.earlier, tt.later, got)
		}
	}
}

// covers is how policy reads an entry of config_keys.
func covers(glob, path []string) bool {
	switch {
	case len(glob) == 0:
		return true
	case glob[0] == "**":
		return covers(glob[1:], path) || len(path) > 0 && covers(glob, path[1:])
	}
	return len(path) > 0 && (glob[0] == "*" || config.Match(glob[0], path[0])) && covers(glob[1:], path[1:])
}

func TestNarrowerKeysIsSound(t *testing.T) {
	segment := rapid.OneOf(rapid.SampledFrom([]string{"*", "**", "a", "a*", "ab", "*a", "a?"}), rapid.StringMatching(`(a|b|\*|\?|/){1,3}`))
	glob := rapid.SliceOfN(segment, 1, 4)
	name := rapid.SliceOfN(rapid.StringMatching(`(a|b|/){1,3}`), 1, 5)
	rapid.Check(t, func(t *rapid.T) {
		earlier, later := glob.Draw(t, "earlier"), glob.Draw(t, "later")
		if !config.NarrowerKeys(strings.Join(earlier, "."), strings.Join(later, ".")) {
			return
		}
		for range 50 {
			n := name.Draw(t, "name")
			if covers(later, n) && !covers(earlier, n) {
				t.Fatalf("%q covers %q, %q does not", later, n, earlier)
			}
		}
	})
}

func TestNarrowerCommands(t *testing.T) {
	for _, tt := range []struct {
		earlier, later string
		want           bool
	}{
		{"*", "exec", true}, {"*", "mcp list", true}, {"**", "*", true}, {"exec", "exec", true}, {"mcp", "mcp list", true},
		{"mcp list", "mcp", false}, {"mcp list", "mcp add", false}, {"mcp l*", "mcp list", true}, {"log*", "logout", true}, {"e", "exec", false},
		// Only a pattern that writes them out opens these, so naming one loosens.
		{"*", "app-server daemon", false}, {"**", "remote-control", false}, {"*", "sandbox", false}, {"s*", "sandbox ls", false},
		{"app-server", "app-server proxy", false}, {"app-*", "app-server proxy", false}, {"app-server *", "app-server proxy", false},
		{"app-server proxy", "app-server  proxy", true}, {"remote-control", "remote-control start", true}, {"sandbox", "sandbox *", true},
		{"mcp", "mcp other", false}, {"mcp *", "mcp other", false}, {"mcp other", "mcp other x", true}, {"*", "mcp *", true}, {"*", "mcp add", true},
		// Patterns with globs open none of them.
		{"*", "a* *", true}, {"*", "stdio-*", true}, {"*", "app-server *", true}, {"*", "app-server", true}, {"*", "* list", true},
	} {
		if got := config.NarrowerCommands(tt.earlier, tt.later); got != tt.want {
			t.Errorf("narrowerCommands(%q, %q) = %v", tt.earlier, tt.later, got)
		}
	}
}

// Match compares a start before it asks doublestar. That changes no answer, also for bytes that are not UTF-8.
func TestMatchIsDoublestar(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab/*?[]{},\\é\uFFFD_")), 0, 8, -1)
	rapid.Check(t, func(t *rapid.T) {
		pattern, name := text.Draw(t, "pattern"), text.Draw(t, "name")
		name = strings.ReplaceAll(name, "?", "\xff")
		if rapid.Bool().Draw(t, "similar") {
			name = strings.NewReplacer("*", "", "?", "\xff").Replace(pattern)
		}
		want, err := doublestar.Match(pattern, name)
		if got := config.Match(pattern, name); got != (want && err == nil) {
			t.Fatalf("Match(%q, %q) is %v, doublestar says %v, %v", pattern, name, got, want, err)
		}
	})
}
