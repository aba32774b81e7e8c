package rules_test

import (
	"slices"
	"testing"

	"codex-bridge.example/bridge/rules"
)

// Measured: the texts are from Codex.
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

func TestCommands(t *testing.T) {
	text := func(words ...string) (all []rules.Word) {
		for _, w := range words {
			all = append(all, rules.Word{Text: w, Known: true})
		}
		return all
	}
	for line, want := range map[string][]rules.Command{
		"git status; ls -l": {{Words: text("git", "status")}, {Words: text("ls", "-l")}},
		`git "$x"`:          {{Words: append(text("git"), rules.Word{})}},
		`git $x`:            {{Words: append(text("git"), rules.Word{Many: true})}},
		`git *`:             {{Words: append(text("git"), rules.Word{Many: true})}},
		"git (":             {{Opaque: true}},
		"> out":             {{}},
		"PS4=x ls":          {{Words: text("ls")}, {Opaque: true}}, // a shell would run its value
	} {
		same := func(a, b rules.Command) bool { return slices.Equal(a.Words, b.Words) && a.Opaque == b.Opaque }
		if got := rules.Commands(line); !slices.EqualFunc(got, want, same) {
			t.Errorf("%s: got %+v, want %+v", line, got, want)
		}
	}
}
