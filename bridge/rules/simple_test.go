package rules_test

import (
	"slices"
	"testing"

	"codex-bridge/bridge/rules"
)

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
