package rules_test

import (
	"fmt"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

const many = 1000

// differing returns rules for many programs, some with patterns, like the rules of a team.
func differing() []config.Rule {
	list := make([]config.Rule, many)
	for i := range list {
		list[i] = config.Rule{Command: fmt.Sprintf("tool%d sub%d ** --flag *", i%300, i), Decision: "deny"}
		switch i % 20 {
		case 0:
			list[i].Command = fmt.Sprintf("git sub%d **", i)
		case 1:
			list[i].Command = fmt.Sprintf("name%d* **", i)
		}
	}
	list[many-1] = config.Rule{Command: "git status **", Decision: "allow"}
	return list
}

// alike returns the slowest rules for one program.
func alike() []config.Rule {
	list := make([]config.Rule, many)
	for i := range list {
		list[i] = config.Rule{Command: fmt.Sprintf("git sub%d ** --flag **", i), Decision: "deny"}
	}
	list[many-1] = config.Rule{Command: "git status **", Decision: "allow"}
	return list
}

func paths() []config.Rule {
	list := make([]config.Rule, many)
	for i := range list {
		list[i] = config.Rule{Path: fmt.Sprintf([]string{
			"${workspace}/dir%d/**", "**/secret%d/*.pem", "/srv/%d/**", "${workspace}/**/*.gen%d.go", "~/.tool%d/**",
		}[i%5], i), Decision: "deny"}
	}
	list[many-1] = config.Rule{Path: "${workspace}/**", Decision: "allow"}
	return list
}

func BenchmarkShell(b *testing.B) {
	for _, set := range []struct {
		name  string
		rules []config.Rule
	}{{"differing", differing()}, {"alike", alike()}} {
		s := compile(b, set.rules)
		for _, c := range []struct {
			name, command string
			want          rules.Decision
		}{
			{"simple", "git status --short", rules.Allow},
			{"wrapped", `/bin/bash -lc 'git status --short'`, rules.Allow},
			{"line", `/bin/bash -lc 'cd sub && git status --short | grep -v "^??" | head -n 20'`, rules.None},
			{"unknown", `/bin/bash -lc 'git status "$x"'`, rules.None},
		} {
			b.Run(set.name+"/"+c.name, func(b *testing.B) {
				for b.Loop() {
					if m := s.Shell(c.command, "bash", rules.Sandboxed, dirs); m.Decision != c.want {
						b.Fatal(printed(m))
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "µs/decision")
			})
		}
	}
}

func BenchmarkFiles(b *testing.B) {
	s := compile(b, paths())
	for _, n := range []int{1, 5} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var changes []rules.Change
			for i := range n {
				changes = append(changes, rules.Change{Path: fmt.Sprintf("/code/proj/internal/server/file%d.go", i)})
			}
			for b.Loop() {
				if m := s.Files(changes, rules.Sandboxed, dirs); m.Decision != rules.Allow {
					b.Fatal(printed(m))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "µs/decision")
		})
	}
}

func BenchmarkTool(b *testing.B) {
	list := make([]config.Rule, many)
	for i := range list {
		list[i] = config.Rule{Tool: fmt.Sprintf("mcp__server%d__*", i), Decision: "deny"}
	}
	s := compile(b, list)
	for b.Loop() {
		if m := s.MCP("github", "get_issue"); m.Decision != rules.None {
			b.Fatal(printed(m))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "µs/decision")
}

func BenchmarkProgram(b *testing.B) {
	for _, set := range []struct {
		name  string
		rules []config.Rule
	}{{"few", rulesOf("allow git status **", "deny git push **", "ask {rm,curl} **")}, {"differing", differing()}, {"alike", alike()}} {
		s := compile(b, set.rules)
		for _, c := range []struct{ name, words string }{
			{"git", "/usr/bin/git status --short"}, {"other", "/usr/lib/gcc/cc1 -quiet -I include -imultiarch x86_64-linux-gnu a.c -dumpbase a.c -O2 -o /tmp/a.s"},
			{"link", "/usr/bin/python3=>/usr/bin/python3.12 -m pytest -q"}, {"shell", "/bin/sh=>/bin/dash build.sh all"},
		} {
			p := program(c.words)
			b.Run(set.name+"/"+c.name, func(b *testing.B) {
				for b.Loop() {
					if m := s.Program(p, rules.Sandboxed, programDirs); m.Decision != rules.None {
						b.Fatal(printed(m))
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "µs/decision")
			})
		}
	}
}
