package userrules_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/userrules"
)

// own are typical rules of users.
const own = `
prefix_rule(pattern=["git", ["status", "log"]], decision="allow", justification="reads", match=["git status"], not_match=["git push"])
prefix_rule(pattern=["ls"])
prefix_rule(pattern=["/opt/make"], decision="allow")
prefix_rule(pattern=["npm", "run"])
prefix_rule(pattern=["npm", "run", "deploy"], decision="forbidden")
prefix_rule(pattern=["rm"], decision="prompt")
prefix_rule(pattern=["/bin/zsh", "-lc", "(cd x; make)"])
host_executable(name="ls", paths=["/bin/ls"])
network_rule(host="example.com", protocol="https", decision="allow")
`

func read(t *testing.T, files map[string]string) *userrules.Set {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return new(userrules.Reader).Read(dir)
}

// The end-to-end tests compare outcomes with Codex itself.
func TestJudge(t *testing.T) {
	set := read(t, map[string]string{"own.rules": own})
	if set.Err != nil {
		t.Fatal(set.Err)
	}
	for line, want := range map[string]userrules.Outcome{
		"git status":         userrules.Leaves,
		"git status; ls -l":  userrules.Leaves,
		"git log | ls":       userrules.Leaves,
		"/usr/bin/git log":   userrules.Leaves,
		"/opt/make":          userrules.Leaves,
		"ls $(pwd)":          userrules.Leaves, // Codex may read it in another way
		"pwd":                userrules.Stays,  // no rule
		"pwd > a":            userrules.Stays,
		"pwd\f":              userrules.Leaves,
		"git\fstatus\f/../e": userrules.Leaves,
		"pwd #":              userrules.Leaves,
		// Codex applies a patch in a line itself.
		"apply_patch <<'EOF'\n*** Begin Patch\n+E $x\n*** End Patch\nEOF\n": userrules.Stays,
		"cd a/b && apply_patch <<'E'\n*** Begin Patch\n*** End Patch\nE":    userrules.Stays,
		"apply_patch <<'E'\n*** Begin Patch\nE; ls\n*** End Patch\nE":       userrules.Leaves,
		"apply_patch <<'E'\n*** Begin Patch\n\tE\nls\n*** End Patch\nE":     userrules.Leaves,
		"apply_patch <<'E'\n*** Begin Patch\n*** End Patch\nE\nls\nE":       userrules.Leaves,
		"apply_patch <<'E'\n*** Begin Patch\n*** End Patch\f\nE":            userrules.Leaves,
		"apply_patch <<'E'\n*** Begin Patch\n*** End Patch\nF":              userrules.Leaves,
		"apply_patch\f<<'E'\n*** Begin Patch\n*** End Patch\nE":             userrules.Leaves,
		"ls && apply_patch <<'E'\n*** Begin Patch\n*** End Patch\nE":        userrules.Leaves,
		"rm ~/a":                         userrules.Asks,  // Codex may ask about rm
		"rm 'a$b'":                       userrules.Stays, // no rule allows it, so Codex asks
		"rm *":                           userrules.Leaves,
		"touch x\\":                      userrules.Unsure,
		"ls $x":                          userrules.Leaves,
		"$x status":                      userrules.Leaves, // may be git
		"git $x":                         userrules.Leaves,
		"{git,status}":                   userrules.Leaves,
		"npm run":                        userrules.Leaves,
		"(cd x; make)":                   userrules.Leaves,
		"ls <<X":                         userrules.Leaves,
		"ls 'never closed":               userrules.Leaves,
		"ls 'never closed rm":            userrules.Asks,    // it may be rm, too
		"npm run deploy":                 userrules.Forbids, // Codex refuses it
		"/bin/npm run 'deploy' -x":       userrules.Forbids,
		"ls && npm run deploy":           userrules.Forbids,
		"npm run $x":                     userrules.Leaves, // no rule matches it
		"npm run > deploy":               userrules.Leaves,
		"npm run \"deploy\" '$x'":        userrules.Forbids, // nothing is expanded
		"npm run \"deploy\" \"$x\"":      userrules.Leaves,
		"npm run \"$x\" deploy":          userrules.Leaves,
		"npm\frun\fdeploy":               userrules.Forbids, // Codex takes form feeds for blanks
		"npm run de\\\nploy":             userrules.Forbids,
		"npm run d'ep'loy é":             userrules.Forbids,
		"npm run 'é' deploy":             userrules.Leaves,
		"npm run ~":                      userrules.Forbids,
		"ls; rm a":                       userrules.Stays, // Codex asks about rm
		"ls; /bin/rm a":                  userrules.Stays, // no rule allows it
		"make":                           userrules.Stays,
		"git push":                       userrules.Stays,
		"git status && git push":         userrules.Stays,
		"(cd x; make) ":                  userrules.Leaves,
		"bash -c 'git status'":           userrules.Stays,
		"":                               userrules.Leaves, // though it runs nothing
		"ls \\":                          userrules.Unsure,
		"ls " + strings.Repeat("a", 1e5): userrules.Forbids, // too long
	} {
		if v := set.Judge(line); v.Outcome != want || (v.Reason == "") != (want == userrules.Stays) {
			t.Errorf("%.40q: %+v, want %d", line, v, want)
		}
	}
	if n := len(set.Allowing()); n != 5 {
		t.Errorf("%d rules let something out", n)
	}
}

// Without an Allow rule every line stays.
func TestJudgeWithoutAllowRules(t *testing.T) {
	set := read(t, map[string]string{"own.rules": "prefix_rule(pattern=[\"rm\"], decision=\"prompt\")\n"})
	for _, line := range []string{"rm a", "rm ~/a", "rm\fa", "(", "ls \\", ""} {
		if v := set.Judge(line); v.Outcome != userrules.Stays {
			t.Errorf("%q: %+v", line, v)
		}
	}
}

// A rule for a shell allows lines that Codex does not split, and braces do not prevent that.
func TestJudgeShell(t *testing.T) {
	for _, pattern := range []string{`["bash"]`, `[["x", "/bin/zsh"], "-lc"]`, `["C:\\Windows\\System32\\cmd.exe"]`} {
		set := read(t, map[string]string{"own.rules": "prefix_rule(pattern=" + pattern + ")\n"})
		for line, want := range map[string]userrules.Outcome{"(ls)": userrules.Unsure, "ls > a": userrules.Unsure, "ls -l a": userrules.Stays} {
			if v := set.Judge(line); v.Outcome != want {
				t.Errorf("%s: %s: %+v (%v)", pattern, line, v, set.Err)
			}
		}
	}
}

// A rule for one line of a shell, with the decision Allow, allows that line. Another decision counts if a
// rule lets the line out.
func TestJudgeRuleForShellLine(t *testing.T) {
	const forLine = `prefix_rule(pattern=["/bin/zsh", "-lc", "(make all)"], decision="`
	for decision, want := range map[string][2]userrules.Outcome{
		"allow": {userrules.Leaves, userrules.Leaves}, "prompt": {userrules.Stays, userrules.Asks}, "forbidden": {userrules.Stays, userrules.Forbids},
	} {
		for i, other := range []string{"", "prefix_rule(pattern=[\"ls\"])\n"} {
			set := read(t, map[string]string{"own.rules": other + forLine + decision + "\")\n"})
			if v := set.Judge("(make all)"); v.Outcome != want[i] {
				t.Errorf("%s, %q: got %+v, want %d (%v)", decision, other, v, want[i], set.Err)
			}
		}
	}
}

// A verdict names the strictest rule and all that apply.
func TestJudgeNamesRestrictions(t *testing.T) {
	set := userrules.Parse("prefix_rule(pattern=[\"git\"])\nprefix_rule(pattern=[\"git\", \"push\"], decision=\"prompt\")\nprefix_rule(pattern=[\"git\", [\"push\", \"pull\"]], decision=\"forbidden\")\n")
	v := set.Judge("git push")
	if v.Outcome != userrules.Forbids || len(v.Restrictions) != 2 || v.Reason != `the rule for "git push|pull" at own.rules:3 forbids it` {
		t.Errorf("%+v", v)
	}
	if v := set.Judge("git push é"); v.Outcome != userrules.Forbids || !strings.Contains(v.Reason, "or may") {
		t.Errorf("%+v", v)
	}
	if a, b := v.Restrictions[0], v.Restrictions[1]; a.Digest() == b.Digest() || a.Digest() != (&userrules.Rule{Decision: userrules.Prompt, Pattern: a.Pattern}).Digest() {
		t.Errorf("digests %s, %s", a.Digest(), b.Digest())
	}
}

// A rule of the machine's requirements may match words in any case, as Codex compares them.
func TestJudgeInAnyCase(t *testing.T) {
	set := userrules.Parse("prefix_rule(pattern=[\"true\"])\nprefix_rule(pattern=[[\"git\", \"GIT\", \"gIT\", \"gi\u0074\"]])\nprefix_rule(pattern=[\"STRASSE\"])\n")
	set.Rules = append(set.Rules, userrules.Rule{Decision: userrules.Forbidden, AnyCase: true, Pattern: [][]string{{"Git"}, {"push"}}},
		userrules.Rule{Decision: userrules.Prompt, AnyCase: true, Pattern: [][]string{{"/bin/bash"}, {"-lc"}, {"(TRUE)"}}})
	for line, want := range map[string]userrules.Outcome{
		"git push": userrules.Forbids, "GIT PUSH": userrules.Forbids, "/bin/gIT Push": userrules.Forbids, "GIT\fPUSH": userrules.Forbids, "git 'puſh'": userrules.Forbids,
		"git pull": userrules.Leaves, "STRASSE push": userrules.Leaves, "(true)": userrules.Asks, "git pull #": userrules.Leaves,
	} {
		if v := set.Judge(line); v.Outcome != want {
			t.Errorf("%q: %+v, want %d (%v)", line, v, want, set.Err)
		}
	}
	if a, b := set.Rules[3], set.Rules[3]; a.Digest() != b.Digest() {
		t.Error("one rule has two digests")
	} else if b.AnyCase = false; a.Digest() == b.Digest() {
		t.Error("two rules have one digest")
	}
}

func TestWrap(t *testing.T) {
	for line, want := range map[string]string{
		"a # b":                      "{ a # b\n}",
		"# b\na":                     "{ # b\na\n}",
		"":                           "{ :; }; ",
		" \t\n":                      "{ :; };  \t\n",
		"# b":                        "{ :; }; # b",
		" # b\n\n# c\n":              "{ :; };  # b\n\n# c\n",
		"\r":                         "{ \r\n}",
		"cat <<E\nx\nE":              "{ cat <<E\nx\nE\n}",
		"cat <<-'E' <<F\n\tE\nF\nls": "{ cat <<-'E' <<F\n\tE\nF\nls\n}",
		"cat <<E":                    "{ :; }; cat <<E",
		"cat <<E\nx\n":               "{ :; }; cat <<E\nx\n",
		"cat <<E <<\"F\"\nE\n}":      "{ :; }; cat <<E <<\"F\"\nE\n}",
	} {
		if got := userrules.Wrap(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
