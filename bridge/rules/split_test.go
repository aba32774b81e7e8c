package rules_test

import (
	"slices"
	"testing"

	"codex-bridge/bridge/rules"
)

// The texts are Codex's own (measured).
func TestSplit(t *testing.T) {
	for text, want := range map[string][]string{
		"/bin/bash -lc 'git status'": {"/bin/bash", "-lc", "git status"},
		"/bin/bash -lc ls":           {"/bin/bash", "-lc", "ls"},
		`/bin/bash -c 'echo $0 hi > /dev/null; echo $0 '"'a'\"b\""`: {"/bin/bash", "-c", `echo $0 hi > /dev/null; echo $0 'a'"b"`},
		"/usr/bin/zsh -lc ''": {"/usr/bin/zsh", "-lc", ""},
		"a 'b\nc'":            {"a", "b\nc"},
		`a "\$x"`:             {"a", "$x"},
		"_a ]b":               {"_a", "]b"},
		"":                    nil,
		"\x00a":               nil,
		"git status; touch x": nil,
		"git  status":         nil,
		"git status ":         nil,
		" git":                nil,
		"git 'status":         nil,
		`git "status`:         nil,
		`git "$x"`:            nil,
		"git \"`x`\"":         nil,
		`git "\x"`:            nil,
		`git \x`:              nil,
		"git $x":              nil,
		"git\tstatus":         nil,
		"git 'a\x00b'":        nil,
	} {
		got, ok := rules.Split(text)
		if !slices.Equal(got, want) && ok || ok != (want != nil) {
			t.Errorf("%q: %q %t", text, got, ok)
		}
	}
}
