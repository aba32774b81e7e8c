package rules_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
	"pgregory.net/rapid"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

// pieces are parts of lines: words that the rules below match, and ways to hide them.
var pieces = []string{
	"git", "push", "status", "log", "ls", "rm", "-f", "--force", "x", "$x", `"$x"`, `"$@"`, "*", "{a,b}", "~/x", `g"i"t`, `pu\sh`, `$'\x67it'`,
	"/usr/bin/git", "./git", "sudo", "env", "A=1", "PATH=/tmp", "-c", "bash", "'git push'", "eval", "xargs", "$(git push)", "`ls`", "<(ls)", "> out", "2>&1",
	"> /dev/null", "< in", "<<< x", "-C", "$((x))", "find", "-exec", ";", "\\;", "{}", "timeout", "5", "nohup", "command", "-v",
}

var separators = []string{" ", " ", " ", " ", " ", "; ", " && ", " | ", " & ", "\n", " || ", "", " ( ", " ) ", " { ", "; }", " $( ", " ! "}

func drawLine(t *rapid.T) string {
	var b strings.Builder
	for range rapid.IntRange(1, 8).Draw(t, "length") {
		b.WriteString(rapid.SampledFrom(pieces).Draw(t, "piece"))
		b.WriteString(rapid.SampledFrom(separators).Draw(t, "separator"))
	}
	return b.String()
}

func drawRule(t *rapid.T) config.Rule {
	r := config.Rule{
		Command: rapid.SampledFrom([]string{
			"git push **", "git **", "git status", "git log *", "ls **", "ls", "rm **", "**", "* *", "env **", "bash -c *", "xargs **", "/usr/bin/git **", "sudo **",
			"git * --force", "{git,rm} **", "A=1 **", "find **", "g* **",
		}).Draw(t, "command"),
		Decision:  rapid.SampledFrom([]string{"allow", "ask", "deny"}).Draw(t, "decision"),
		Escalated: rapid.Bool().Draw(t, "escalated"),
	}
	if rapid.IntRange(0, 6).Draw(t, "kind") == 0 && r.Decision != "allow" {
		r.Command, r.Path = "", rapid.SampledFrom([]string{"**/out", "${workspace}/**", "/etc/**"}).Draw(t, "path")
	}
	return r
}

func drawLayers(t *rapid.T) [][]config.Rule {
	return rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(drawRule), 0, 4), 1, 3).Draw(t, "layers")
}

func compile(t interface{ Fatal(...any) }, layers ...[]config.Rule) *rules.Set {
	s, err := rules.New(layers)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// looseness orders decisions by how much they permit.
func looseness(d rules.Decision) int {
	return slices.Index([]rules.Decision{rules.Deny, rules.Ask, rules.None, rules.Allow}, d)
}

var escalations = []rules.Escalation{rules.Sandboxed, rules.Escalated, rules.EscalationUnknown}

func TestDenyRulesOnlyTighten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layers, command := drawLayers(t), drawLine(t)
		e := rapid.SampledFrom(escalations).Draw(t, "escalation")
		before := compile(t, layers...).Shell(command, "bash", e, dirs)
		more := slices.Clone(layers)
		i := rapid.IntRange(0, len(more)-1).Draw(t, "layer")
		j := rapid.IntRange(0, len(more[i])).Draw(t, "place")
		denied := drawRule(t)
		denied.Decision = "deny"
		more[i] = slices.Insert(slices.Clone(more[i]), j, denied)
		after := compile(t, more...).Shell(command, "bash", e, dirs)
		if looseness(after.Decision) > looseness(before.Decision) {
			t.Fatalf("%q: %s, and with one more deny rule %s", command, printed(before), printed(after))
		}
	})
}

func TestLayersHaveNoOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layers, command := drawLayers(t), drawLine(t)
		e := rapid.SampledFrom(escalations).Draw(t, "escalation")
		turned := slices.Clone(layers)
		slices.Reverse(turned)
		a, b := compile(t, layers...).Shell(command, "bash", e, dirs), compile(t, turned...).Shell(command, "bash", e, dirs)
		if a.Decision != b.Decision {
			t.Fatalf("%q: %s, and turned around %s", command, printed(a), printed(b))
		}
	})
}

// Rules without escalated permit no more outside the sandbox than inside. An unknown escalation
// counts as one.
func TestEscalationOnlyTightens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layers, command := drawLayers(t), drawLine(t)
		for _, l := range layers {
			for i := range l {
				l[i].Escalated = l[i].Escalated && l[i].Decision != "allow"
			}
		}
		s := compile(t, layers...)
		in, out, unknown := s.Shell(command, "bash", rules.Sandboxed, dirs), s.Shell(command, "bash", rules.Escalated, dirs), s.Shell(command, "bash", rules.EscalationUnknown, dirs)
		if looseness(out.Decision) > looseness(in.Decision) || out.Decision == rules.Allow || unknown.Decision != out.Decision {
			t.Fatalf("%q: inside %s, outside %s, unknown %s", command, printed(in), printed(out), printed(unknown))
		}
	})
}

// wrappings are the ways in which a command may run another. %s is the command, %q the command as
// one quoted word.
var wrappings = []string{
	"%s", "ls; %s", "%s; ls", "ls && %s", "ls || %s", "ls | %s", "%s | ls", "%s &", "ls\n%s", "( %s )", "{ %s; }", "! %s",
	"if %s; then ls; fi", "if ls; then %s; fi", "if ls; then ls; else %s; fi", "while %s; do ls; done", "until ls; do %s; done", "for x in a b; do %s; done",
	"case x in x) %s;; esac", "f() { %s; }; f", "ls $(%s)", "ls \"$(%s)\"", "x=$(%s)", "ls <(%s)", "ls > >(%s)", "cat <<EOF\n$(%s)\nEOF\n", "[[ -n $(%s) ]]", "ls ${x:-$(%s)}",
	"bash -c %q", "bash -lc %q", "/bin/sh -ec %q", "zsh -c %q", "dash -c %q", "env bash -c %q", "A=1 bash -c %q", "eval %q", "trap %q EXIT", "sudo sh -c %q", "sudo -u x sh -c %q",
	"nice -n 3 bash -c %q", "nohup bash -c %q", "timeout -s KILL 5 bash -c %q", "stdbuf -oL bash -c %q", "setsid bash -c %q", "exec bash -c %q", "command bash -c %q",
	"busybox sh -c %q", "xargs bash -c %q", "xargs -n 1 bash -c %q", "find . -exec bash -c %q \\;", "watch %q", "su -c %q", "strace -f bash -c %q", "time bash -c %q", "env -i bash -c %q",
	"\"$SHELL\" -c %q", "bash <<< %q", "alias x=%q", "coproc { %s; }", "echo %q | sh", "\\bash -c %q", "b'a'sh -c %q", "doas bash -c %q",
}

func TestWrappedCommandsAreDenied(t *testing.T) {
	s := compile(t, []config.Rule{{Command: "git push **", Decision: "deny"}}, []config.Rule{{Command: "**", Decision: "allow"}})
	rapid.Check(t, func(t *rapid.T) {
		command := rapid.SampledFrom([]string{"git push", "git push origin main", `g"i"t push`, "git -C x push", "/usr/bin/git push", "A=1 git push", "git $x"}).Draw(t, "command")
		for range rapid.IntRange(1, 4).Draw(t, "depth") {
			w := rapid.SampledFrom(wrappings).Draw(t, "wrapping")
			if strings.Contains(w, "%q") {
				q, err := syntax.Quote(command, syntax.LangBash)
				if err != nil {
					t.Fatal(err)
				}
				command = strings.ReplaceAll(w, "%q", q)
			} else {
				command = fmt.Sprintf(w, command)
			}
		}
		if m := s.Shell(command, "bash", rules.Sandboxed, dirs); m.Decision != rules.Deny {
			t.Fatalf("%q: %s", command, printed(m))
		}
	})
}

// A line in the grammar has the strictest decision of its commands. Another line is permitted no
// more than its commands.
func TestLinesAreTheirCommands(t *testing.T) {
	simple := []string{"git status", "git log x", "ls -l *", "make", "rm x", "sudo ls", "ls > out", "ls 2>&1", "CI=1 ls", "PATH=x ls", "bash -c 'ls'", "bash -c 'make'", "./ls", "xargs ls", "$x"}
	rapid.Check(t, func(t *rapid.T) {
		s := compile(t, drawLayers(t)...)
		parts := rapid.SliceOfN(rapid.SampledFrom(simple), 1, 4).Draw(t, "parts")
		command := strings.Join(parts, rapid.SampledFrom([]string{"; ", " && ", " | ", " || ", "\n", " & "}).Draw(t, "separator"))
		worst := rules.Allow
		for _, p := range parts {
			if d := s.Shell(p, "bash", rules.Sandboxed, dirs).Decision; looseness(d) < looseness(worst) {
				worst = d
			}
		}
		m := s.Shell(command, "bash", rules.Sandboxed, dirs)
		if rules.Outside(command) != "" {
			// An allow rule does not count there, nor hide others.
			if m.Decision == rules.Allow || looseness(m.Decision) > looseness(worst) && worst != rules.Allow {
				t.Fatalf("%q: %s, and its commands alone: %v", command, printed(m), worst)
			}
			return
		}
		if m.Decision != worst {
			t.Fatalf("%q: %s, and its commands alone: %v", command, printed(m), worst)
		}
	})
}

// An argument vector has the decision of the line with the same words if that line is in the
// grammar. Another line is permitted no more than the vector.
func TestVectorsAreLines(t *testing.T) {
	words := []string{"git", "push", "status", "ls", "-c", "bash", "git push", "sudo", "env", "nohup", "x y", "xargs", "/bin/sh", "-lc", "timeout", "5", "*", "$x", "find", "-exec", ";"}
	rapid.Check(t, func(t *rapid.T) {
		s := compile(t, drawLayers(t)...)
		argv := rapid.SliceOfN(rapid.SampledFrom(words), 1, 6).Draw(t, "argv")
		quoted := []string{argv[0]}
		if strings.Trim(argv[0], "abcdefghijklmnopqrstuvwxyz/") != "" {
			quoted[0] = "'" + argv[0] + "'"
		}
		for _, w := range argv[1:] {
			quoted = append(quoted, "'"+w+"'")
		}
		line := strings.Join(quoted, " ")
		a, b := s.Argv(argv, rules.Sandboxed, dirs), s.Shell(line, "bash", rules.Sandboxed, dirs)
		if a.Decision != b.Decision && (rules.Outside(line) == "" || looseness(b.Decision) > looseness(a.Decision)) {
			t.Fatalf("%q: as a vector %s, as a line %s", argv, printed(a), printed(b))
		}
	})
}

// A kept line is decided like one that is read again, whatever was asked about it, or about another line, before.
func TestKeptLineIsDecidedAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := []*rules.Set{compile(t, drawLayers(t)...), compile(t, drawLayers(t)...)}
		lines := rapid.SliceOfN(rapid.Custom(drawLine), 1, 2).Draw(t, "lines")
		kept := new(rules.LineCache)
		for range rapid.IntRange(2, 8).Draw(t, "questions") {
			command, shell := rapid.SampledFrom(lines).Draw(t, "line"), rapid.SampledFrom([]string{"bash", "zsh", ""}).Draw(t, "shell")
			fresh := dirs
			fresh.Workspace = rapid.SampledFrom([]string{"", "/code/proj", "/code"}).Draw(t, "workspace")
			fresh.Cwd = rapid.SampledFrom([]string{"/code/proj", "/code/proj/sub"}).Draw(t, "cwd")
			fresh.Home = rapid.SampledFrom([]string{"", "/home/ada"}).Draw(t, "home")
			again := fresh
			again.Lines = kept
			set, e := rapid.SampledFrom(sets).Draw(t, "set"), rapid.SampledFrom(escalations).Draw(t, "escalation")
			if want, got := set.Shell(command, shell, e, fresh), set.Shell(command, shell, e, again); !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: %+v, not %+v", command, got, want)
			}
			files, anyFile := rules.ChangedFiles(command, shell, fresh)
			if got, gotAny := rules.ChangedFiles(command, shell, again); gotAny != anyFile || !slices.Equal(got, files) {
				t.Fatalf("%q changes %+v, not %+v", command, got, files)
			}
		}
	})
}

// The folder of a kept line counts relative to the workspace of the question.
func TestKeptLineInAnotherWorkspace(t *testing.T) {
	set, kept := compile(t, []config.Rule{{Command: "./run.sh", Decision: "allow"}}), new(rules.LineCache)
	for workspace, want := range map[string]rules.Decision{"/code/proj": rules.None, "/code/proj/sub": rules.Allow, "/other": rules.None} {
		d := rules.Dirs{Workspace: workspace, Cwd: "/code/proj/sub", Lines: kept}
		for range 2 {
			if got := set.Shell("./run.sh", "bash", rules.Sandboxed, d).Decision; got != want {
				t.Errorf("in %s: %v", workspace, got)
			}
		}
	}
}
