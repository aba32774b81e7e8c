package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

// A program of a command that a line was asked about is known by its words.
func TestAskedCommandCoversItsProgram(t *testing.T) {
	for _, test := range []struct {
		rule, line string
		covered    []string // programs
		others     []string
	}{
		{"git **", "git push origin", []string{"/usr/bin/git push origin", "/opt/git push origin"},
			[]string{"/usr/bin/git push", "/usr/bin/git push origin x", "/usr/bin/git pull origin", "/x/link=>/usr/bin/git push origin", "/usr/bin/git:git-push push origin"}},
		{"git **", `git log "$x" '$y'`, []string{"/usr/bin/git log a $y", "/usr/bin/git log  $y"}, []string{"/usr/bin/git log a b $y", "/usr/bin/git log $y", "/usr/bin/git log a y"}},
		{"git **", "git add *.go x", []string{"/usr/bin/git add x", "/usr/bin/git add a.go b.go x"}, []string{"/usr/bin/git add a.go", "/usr/bin/git commit x"}},
		{"git **", "git log $x", []string{"/usr/bin/git log", "/usr/bin/git log a b"}, []string{"/usr/bin/git"}},
		{"git **", `"$HOME"/bin/git push`, []string{"/home/ada/bin/git push"}, []string{"/home/ada/bin/hg push"}},
		{"git **", "sudo git push", []string{"/usr/bin/git push"}, []string{"/usr/bin/sudo git push"}},
		{"git **", "ls | xargs -n2 git rm", []string{"/usr/bin/git rm a b"}, []string{"/usr/bin/git add a"}},
		{"git **", "bash -c 'git push; git pull'", []string{"/usr/bin/git push", "/usr/bin/git pull"}, []string{"/usr/bin/git log"}},
		{"git push **", "git-push origin", []string{"/usr/lib/git-core/git-push origin", "/usr/bin/git push origin"}, []string{"/usr/bin/git push"}},
		{"deploy.sh **", "bash deploy.sh prod", []string{"/bin/bash deploy.sh prod", "/code/proj/deploy.sh prod"}, []string{"/bin/bash deploy.sh test", "/bin/bash x.sh"}},
		{"rm **", "rm x", []string{"/bin/rm=>/bin/busybox x"}, []string{"/bin/busybox rm y"}},
		{"rm **", "busybox rm x", []string{"/bin/busybox rm x", "/bin/rm x"}, []string{"/bin/busybox rm y"}},
		{"kill **", "$x -9 5", []string{"/bin/kill -9 5"}, []string{"/bin/kill -9 6"}},
		{"kill **", "eval $x", []string{"/bin/kill -9 5"}, nil},
		{"git **", "BASH_ENV=x git log", []string{"/usr/bin/git log"}, []string{"/usr/bin/git push"}},
	} {
		s := compile(t, rulesOf("ask "+test.rule))
		m := s.Shell(test.line, "bash", rules.Sandboxed, starting(dirs))
		covers := func(words string) bool {
			p := program(words)
			asks := s.Program(p, rules.Sandboxed, programDirs)
			if asks.Decision != rules.Ask {
				return false
			}
			return slices.ContainsFunc(m.Asked, func(a rules.AskedCommand) bool { return a.Covers(p, asks.Rule) })
		}
		for _, words := range test.covered {
			if !covers(words) {
				t.Errorf("%s: %s does not cover %s: %+v", test.rule, test.line, words, m.Asked)
			}
		}
		for _, words := range test.others {
			if covers(words) {
				t.Errorf("%s: %s covers %s: %+v", test.rule, test.line, words, m.Asked)
			}
		}
	}
}

// An answer counts for the same rule only, and for no program that starts another one besides.
func TestAskedCommandCoversOneRule(t *testing.T) {
	list := rulesOf("ask git **", "ask {rm,git} **")
	s := compile(t, list[:1], list[1:])
	m := s.Shell("git status", "bash", rules.Sandboxed, starting(dirs))
	if len(m.Asked) != 2 || len(m.Asking) != 2 {
		t.Fatalf("%+v", m)
	}
	p := program("/usr/bin/git status")
	same := list[0] // as after a reload of the configuration
	if !m.Asked[0].Covers(p, &same) || m.Asked[0].Covers(p, &list[1]) || !m.Asked[1].Covers(p, &list[1]) || m.Asked[0].Covers(p, nil) {
		t.Error("an answer counts for another rule")
	}
	same.Reason = "changed"
	if m.Asked[0].Covers(p, &same) {
		t.Error("an answer counts for a changed rule")
	}
	both := rules.Program{Path: "/usr/bin/git", Args: []string{"git-push", "status"}, Dir: "/"} // git status or git push status
	if m.Asked[0].Covers(both, &list[0]) {
		t.Error("an answer counts for git push, too")
	}
	if (rules.AskedCommand{Rule: &list[0]}).Covers(p, &list[0]) {
		t.Error("a command without words covers one")
	}
}

func TestAskedCommandsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "git log %d; git log %d\n", i, i)
	}
	s := compile(t, []config.Rule{{Command: "git **", Decision: "ask"}})
	if m := s.Shell(b.String(), "", rules.Sandboxed, starting(dirs)); m.Decision != rules.Ask || len(m.Asked) != 256 {
		t.Errorf("%s: %d commands", m.Decision, len(m.Asked))
	}
}
