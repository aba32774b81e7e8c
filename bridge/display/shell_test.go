package display_test

import (
	"testing"

	"codex-bridge.example/bridge/display"
)

func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{
		"/usr/bin/codex-bridge": "/usr/bin/codex-bridge", "10s": "10s", "pre_tool_use": "pre_tool_use", "": "''",
		"/a b": "'/a b'", "/it's": `'/it'\''s'`, "$HOME": "'$HOME'", "/a\nb": "'/a\nb'", `\`: `'\'`, "~": "'~'", "é": "'é'", "a;b": "'a;b'",
	} {
		if got := display.ShellWord(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
