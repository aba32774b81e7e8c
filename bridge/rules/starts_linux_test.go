package rules_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

// No rule whose name a shell has as a builtin or reserved word holds where programs start.
func TestBuiltinsOfRealShells(t *testing.T) {
	for _, command := range [][]string{
		{"bash", "-c", "compgen -b -k"}, {"zsh", "-fc", "print -rl -- ${(k)builtins} ${(k)reswords}"},
		// dash lists no names: these are those of its manual.
		{"dash", "-c", `for n in . : [ alias bg break case cd chdir command continue do done echo elif else esac eval exec exit export false fc fg fi for getopts hash \
			if jobs kill local printf pwd read readonly return set shift test then times trap true type ulimit umask unalias unset until wait while { } !; do
			command -v -- "$n" > /dev/null && echo "$n"; done`},
	} {
		out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).Output()
		if err != nil || len(out) < 200 && command[0] != "dash" {
			t.Fatal(command[0], err)
		}
		for name := range strings.FieldsSeq(string(out)) {
			pattern := strings.NewReplacer("[", `\[`, "{", `\{`, "}", `\}`, "]", `\]`).Replace(name)
			if !doublestar.ValidatePattern(pattern) {
				t.Fatal(pattern)
			}
			for _, rule := range []string{pattern, "/bin/" + pattern + " **"} {
				if holds, err := rules.HoldsAtStart(config.Rule{Command: rule, Decision: "deny"}); holds || err != nil {
					t.Errorf("%s: the rule %q holds where programs start: %v", command[0], rule, err)
				}
			}
		}
	}
}
