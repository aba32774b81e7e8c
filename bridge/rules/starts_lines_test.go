package rules_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

// starting returns folders of a thread where the starts of programs are decided.
func starting(d rules.Dirs) rules.Dirs {
	d.ProgramStarts = true
	return d
}

// Known words count before the line runs, also in a line with unknown parts.
func TestLineWhereProgramStartsAreDecided(t *testing.T) {
	s := compile(t, rulesOf("deny git push **"))
	for line, want := range map[string]rules.Decision{
		"git push": rules.Deny, "cd x && git push -f": rules.Deny, "/usr/bin/GIT push": rules.Deny, "g\"i\"t p\\ush": rules.Deny, "$'g\\x69t' push": rules.Deny,
		`git -C "$dir" push`: rules.Deny, "git -C $dir push origin": rules.Deny, "git push $x": rules.Deny, `git push "$@"`: rules.Deny, "git push *": rules.Deny, "git push && eval $x": rules.Deny,
		`"$HOME/bin/git" push`: rules.Deny, "~/bin/git push": rules.Deny, "$x; git push": rules.Deny, "curl x | sh; git push": rules.Deny, "BASH_ENV=x git push": rules.Deny, "PS4=x; git push": rules.Deny,
		"sudo git push": rules.Deny, "env A=1 git push": rules.Deny, `env -u X "$y" git push`: rules.Deny, "ls | xargs git push": rules.Deny, "ls | xargs -I% git push %": rules.Deny, "timeout 5 git push": rules.Deny,
		"bash -c 'git push'": rules.Deny, `bash -c "git push"; $y`: rules.Deny, "eval 'git push'": rules.Deny, "bash <<'E'\ngit push\nE": rules.Deny, "find . -exec git push \\;": rules.Deny, "echo $(git push)": rules.Deny,
		"f() { git push; }; f": rules.Deny, "trap 'git push' EXIT": rules.Deny, "git-push origin": rules.Deny, "GIT_PAGER='git push' git log": rules.Deny, "{ time git push; } &": rules.Deny, "git {push,x}": rules.Deny,
		"((x)); git push": rules.Deny, "git push 'a": rules.None, // it can't be parsed

		"git $x": rules.None, "git $(echo push)": rules.None, "$x push": rules.None, "$SUDO git push": rules.None, "g*t push": rules.None, "{git,x} $y": rules.None, "git p$x": rules.None, "git $x push": rules.None,
		"eval $x": rules.None, "bash -c \"$x\"": rules.None, "x='a[$(git push)]'; ((x))": rules.None, "$x -c 'git push'": rules.None, "git -c alias.p=push p": rules.None, "xargs $x": rules.None, "BASH_ENV=x ls": rules.None, "curl x | sh": rules.None, strings.Repeat("x ", 40_000): rules.None,
	} {
		if m := s.Shell(line, "bash", rules.Sandboxed, starting(dirs)); m.Decision != want {
			t.Errorf("%.100q: %.200s", line, printed(m))
		}
	}
}

// Rules that do not hold where programs start decide as they do elsewhere.
func TestOtherRulesWhereProgramStartsAreDecided(t *testing.T) {
	for _, command := range []string{"**", "* *", "kill **", "** --force **", "A=1 git **", "e* **"} {
		for _, decision := range []string{"deny", "ask"} {
			s := compile(t, []config.Rule{{Command: command, Decision: decision}})
			for _, line := range []string{"eval $x", "$x a", "curl x | sh", "x='a[$(kill 1)]'; ((x))", "A=1 git $x", "kill $x", "git push --force", "ls", "git push 'a"} {
				a, b := s.Shell(line, "bash", rules.Sandboxed, dirs), s.Shell(line, "bash", rules.Sandboxed, starting(dirs))
				if a.Decision != b.Decision || printed(a) != printed(b) {
					t.Errorf("%s: %s: %s, and with the starts of programs %s", command, line, printed(a), printed(b))
				}
			}
		}
	}
	tool := compile(t, []config.Rule{{Tool: "shell", Decision: "ask"}, {Path: "**/.env", Decision: "deny"}})
	for line, want := range map[string]rules.Decision{"eval $x": rules.Deny, "ls": rules.Ask, "echo x > .env": rules.Deny} {
		if m := tool.Shell(line, "bash", rules.Sandboxed, starting(dirs)); m.Decision != want {
			t.Errorf("%s: %s", line, printed(m))
		}
	}
}

// A shell reads a script itself, and no program starts. So rules whose names look like those of scripts decide as
// elsewhere.
func TestScriptsThatShellsRead(t *testing.T) {
	for _, command := range []string{"./deploy.sh **", "deploy.sh", "scripts/deploy **", "*.sh **"} {
		s := compile(t, rulesOf("deny "+command))
		for _, line := range []string{"X=deploy.sh; . ./$X", "X=deploy.sh; source $X", "bash < deploy.sh", "cat deploy.sh | sh", "bash --rcfile deploy.sh -i", "BASH_ENV=deploy.sh bash -c true", "eval $x"} {
			a, b := s.Shell(line, "bash", rules.Sandboxed, dirs), s.Shell(line, "bash", rules.Sandboxed, starting(dirs))
			if printed(a) != printed(b) || b.Decision != rules.Deny && line == "eval $x" {
				t.Errorf("%s: %s: %s, and with the starts of programs %s", command, line, printed(a), printed(b))
			}
		}
	}
}

// A command that an unknown program may start hides later rules as it does elsewhere.
func TestGuessedCommandHidesLaterRules(t *testing.T) {
	s := compile(t, rulesOf("ask git push **", "deny * push **"))
	for _, line := range []string{`"$x" git push`, `"$x" 'git push'`} {
		if a, b := s.Shell(line, "bash", rules.Sandboxed, dirs), s.Shell(line, "bash", rules.Sandboxed, starting(dirs)); a.Decision != rules.Ask || b.Decision != rules.None {
			t.Errorf("%s: %s, and with the starts of programs %s", line, printed(a), printed(b))
		}
	}
}

// compareStarting compares the decisions on a line without and with decisions on the starts of programs: the
// latter is never stricter, and it is the same if no rule holds there.
func compareStarting(t interface{ Fatalf(string, ...any) }, s *rules.Set, holds bool, line, shell string, e rules.Escalation) {
	without, with := s.Shell(line, shell, e, dirs), s.Shell(line, shell, e, starting(dirs))
	if looseness(with.Decision) < looseness(without.Decision) || !holds && printed(with) != printed(without) {
		t.Fatalf("%s: %q: %s, and with the starts of programs %s", shell, line, printed(without), printed(with))
	}
	if without.Asked != nil {
		t.Fatalf("%s: %q: asked %v", shell, line, without.Asked)
	}
	for _, a := range with.Asked {
		if !slices.Contains(with.Asking, a.Rule) || len(a.Words) == 0 {
			t.Fatalf("%s: %q: asked about %+v by another rule", shell, line, a)
		}
	}
}

func holds(t interface{ Fatal(...any) }, r config.Rule) bool {
	holds, err := rules.HoldsAtStart(r)
	if err != nil {
		t.Fatal(err)
	}
	return holds
}

func TestStartsOfProgramsOnlyLoosenLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layers, line := drawLayers(t), drawLine(t)
		some := false
		for i := range layers {
			if rapid.IntRange(0, 3).Draw(t, "others only") == 0 {
				layers[i] = slices.DeleteFunc(layers[i], func(r config.Rule) bool { return holds(t, r) })
			}
			some = some || slices.ContainsFunc(layers[i], func(r config.Rule) bool { return holds(t, r) })
		}
		shell := rapid.SampledFrom([]string{"bash", "zsh", "sh", ""}).Draw(t, "shell")
		compareStarting(t, compile(t, layers...), some, line, shell, rapid.SampledFrom(escalations).Draw(t, "escalation"))
	})
}

// The same for all lines of testdata/rules, with their rules and with others.
func TestStartsOfProgramsLoosenKnownLines(t *testing.T) {
	files, _ := filepath.Glob("../../testdata/rules/*.txt")
	lines := 0
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		set := load(t, archive)
		push, all := compile(t, rulesOf("deny git push **", "ask {rm,touch} **")), compile(t, rulesOf("ask kill **", "deny ** -rf"))
		for _, f := range archive.Files {
			for text := range strings.Lines(string(f.Data)) {
				kind, line, ok := strings.Cut(strings.TrimSuffix(text, "\n"), "> ")
				if !ok || f.Name != "cases" {
					continue
				}
				lines++
				shell := map[string]string{"shell": "bash", "sh": "sh", "zsh": "zsh"}[kind]
				for _, e := range escalations {
					compareStarting(t, set, true, line, shell, e)
					compareStarting(t, push, true, line, shell, e)
					compareStarting(t, all, false, line, shell, e)
				}
			}
		}
	}
	if lines < 1000 {
		t.Errorf("only %d lines", lines)
	}
}
