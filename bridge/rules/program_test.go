package rules_test

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

// programDirs are the folders of a thread, with two folders of PATH.
var programDirs = rules.Dirs{
	Workspace: "/code/proj", Home: "/home/ada", ProgramFolders: []string{"/usr/local/bin", "/usr/bin"},
	Follow: func(path string) (string, error) {
		switch path {
		case "/code/proj/g":
			return "/usr/bin/git", nil
		case "/code/proj/missing":
			return "", errors.New("no such file")
		}
		return path, nil
	},
}

// program returns the start of a program in the workspace. Its words are separated by spaces; the
// first is the path, perhaps with =>RESOLVED, or PATH:ARGV0.
func program(words string) rules.Program {
	all := strings.Split(words, " ")
	name, resolved, _ := strings.Cut(all[0], "=>")
	name, argv0, ok := strings.Cut(name, ":")
	if !ok {
		argv0 = path.Base(name)
	}
	return rules.Program{Path: name, Resolved: resolved, Args: append([]string{argv0}, all[1:]...), Dir: "/code/proj"}
}

func rulesOf(texts ...string) (list []config.Rule) {
	for _, text := range texts {
		decision, command, _ := strings.Cut(text, " ")
		list = append(list, config.Rule{Decision: decision, Command: command})
	}
	return list
}

func TestProgram(t *testing.T) {
	for _, test := range []struct {
		rules   string // separated by "; "
		program string
		want    rules.Decision
	}{
		// The names.
		{"deny git push **", "/usr/bin/git push", rules.Deny},
		{"deny git push **", "/usr/bin/git push -f origin", rules.Deny},
		{"deny git push **", "/opt/x/GIT.exe push", rules.Deny},
		{"deny git push **", "/usr/bin/git pull", rules.None},
		{"deny git push **", "/usr/bin/echo git push", rules.None},
		{"deny git push **", "/usr/bin/git -C dir push", rules.Deny},
		{"deny git push **", "/usr/bin/git -c a=b -C dir push", rules.Deny},
		{"deny git push **", "/code/proj/g=>/usr/bin/git push", rules.Deny},
		{"deny git push **", "/code/proj/copy:git push", rules.Deny},
		{"deny git push **", "/usr/bin/git:other push", rules.Deny},
		{"deny bash", "/usr/bin/bash:-bash", rules.Deny},
		{"deny /usr/bin/git **", "/opt/git push", rules.Deny},
		{"deny {git,hg} push **", "/opt/hg push", rules.Deny},
		{"deny python3.12 **", "/usr/bin/python3=>/usr/bin/python3.12 -c x", rules.Deny},
		{"deny git push", "/usr/bin/git push origin", rules.None},
		{"deny curl ** --output* **", "/usr/bin/curl -s --output=x URL", rules.Deny},

		// Programs that load others.
		{"deny git push **", "/lib64/ld-linux-x86-64.so.2 /usr/bin/git push", rules.Deny},
		{"deny git push **", "/lib64/ld-linux-x86-64.so.2 --library-path /x --argv0 y git push", rules.Deny},
		{"deny git push **", "/lib64/ld-linux-x86-64.so.2 --argv0 git ./copy push", rules.Deny},
		{"deny git push **", "/lib64/ld-linux-x86-64.so.2 --new-option 1 git push", rules.Deny},
		{"deny git push **", "/lib64/ld-linux-x86-64.so.2 --preload git push", rules.None},
		{"deny git push **", "/lib64/ld-linux-x86-64.so.2 --list /usr/bin/git push", rules.Deny},
		{"deny git push **", "/lib64/ld-linux-x86-64.so.2 ./g push", rules.Deny},
		{"deny git push **", "/lib64/ld-linux-x86-64.so.2 ./missing push", rules.None},
		{"deny git push **", "/lib64/ld-linux-x86-64.so.2 /usr/bin/ls git push", rules.None},
		{"deny git push **", "/lib/ld-musl-x86_64.so.1 --library-path=/x -- /usr/bin/git push", rules.Deny},
		{"deny git push **", "/lib/libc.musl-x86_64.so.1 /usr/bin/git push", rules.Deny},
		{"deny git push **", "/usr/lib/musl/lib/libc.so git push", rules.Deny},
		{"deny git push **", "/code/proj/l=>/lib64/ld-linux-x86-64.so.2 git push", rules.Deny},
		{"deny git push **", "/lib64/ld-linux-x86-64.so.2 /lib64/ld-linux-x86-64.so.2 git push", rules.Deny},
		{"deny rm **", "/lib64/ld-linux-x86-64.so.2 /bin/busybox rm x", rules.Deny},
		{"deny git push **", "/usr/bin/valgrind -q --trace-children=yes git push", rules.Deny},
		{"deny git push **", "/usr/libexec/valgrind/memcheck-amd64-linux:x -q /usr/bin/git push", rules.Deny},
		{"deny git push **", "/usr/bin/qemu-aarch64-static -L /x ./git push", rules.Deny},
		{"deny git push **", "/usr/bin/qemu-system-x86_64 git push", rules.None},
		{"deny git push **", "/usr/bin/x86_64-linux git push", rules.None},
		{"deny rm **", "/bin/busybox rm x", rules.Deny},
		{"deny rm **", "/bin/busybox --x rm x", rules.Deny},
		{"deny rm **", "/bin/rm=>/bin/busybox x", rules.Deny},
		{"deny rm **", "/bin/grep=>/bin/busybox rm x", rules.None},
		{"deny rm **", "/bin/busybox:rm x", rules.Deny},
		{"deny rm **", "/bin/busybox.static rm x", rules.Deny},
		{"deny rm **", "/bin/busybox toybox rm x", rules.Deny},
		{"deny rm **", "/bin/toybox rm x", rules.Deny},
		{"deny rm **", "/usr/bin/coreutils --coreutils-prog=rm x", rules.Deny},
		{"deny rm **", "/usr/bin/x=>/usr/bin/coreutils --coreutils-prog=rm x", rules.Deny},
		{"deny rm -f **", "/usr/bin/coreutils --coreutils-prog-shebang=rm ./script -f", rules.Deny},
		{"deny rm **", "/usr/bin/coreutils rm x", rules.Deny},
		{"deny git push **", "/usr/lib/git-core/git-push origin", rules.Deny},
		{"deny git push **", "/usr/bin/git:git-push origin", rules.Deny},
		{"deny deploy.sh **", "/bin/bash deploy.sh prod", rules.Deny},
		{"deny deploy.sh **", "/bin/bash -x -o pipefail sub/deploy.sh prod", rules.Deny},
		{"deny deploy.sh **", "/bin/sh=>/bin/dash -- deploy.sh", rules.Deny},
		{"deny deploy.sh **", "/bin/bash -c deploy.sh", rules.None},
		{"deny deploy.sh **", "/bin/bash -s deploy.sh", rules.None},
		{"deny deploy.sh **", "/usr/bin/cat deploy.sh", rules.None},

		// The order of the rules.
		{"allow git status; deny git **", "/usr/bin/git status", rules.None},
		{"allow git status; deny git **", "/usr/bin/git status -s", rules.Deny},
		{"allow git status; deny git **", "/usr/bin/git -C x status", rules.Deny},
		{"allow git status; deny git **", "/opt/bin/git status", rules.Deny},
		{"allow git status; deny git **", "/bin/git=>/usr/bin/git status", rules.None},
		{"allow git status; deny git **", "/code/proj/git=>/usr/bin/hg status", rules.Deny},
		{"allow git status; deny git **", "/usr/bin/git:git-push status", rules.Deny},
		{"allow git status; deny git **", "/usr/bin/git:other status", rules.Deny},
		{"allow /opt/bin/git status; deny git **", "/opt/bin/git status", rules.None},
		{"allow /opt/*/git status; deny git **", "/opt/bin/git status", rules.None},
		{"allow /opt/*/git status; deny git **", "/opt/x/../git status", rules.Deny},
		{"allow /opt/git status; deny git **", "/opt/x/../git status", rules.Deny}, // x may be a link
		{"allow bin/git status; deny git **", "bin/git status", rules.Deny},
		{"allow ./bin/git status; deny git **", "/code/proj/bin/git status", rules.None},
		{"allow ./git status; deny git **", "/code/proj/git status", rules.None},
		{"allow git status; deny git **", "/code/proj/git status", rules.Deny},
		{"allow ./bin/git status; deny git **", "/code/other/bin/git status", rules.Deny},
		{"allow ** status; deny git **", "/usr/bin/git status", rules.None},
		{"allow ** status; deny git **", "/code/proj/git status", rules.Deny},
		{"allow git status; deny git **", "/lib64/ld-linux-x86-64.so.2 --argv0 git /usr/bin/git status", rules.None},
		{"ask git push; deny git **", "/usr/bin/git push", rules.Ask},
		{"ask git push; deny git **", "/opt/bin/git push", rules.Deny},
		{"ask git push; deny git **", "/usr/bin/git:other push", rules.Deny},
		{"allow bash deploy.sh; deny bash **", "/usr/bin/bash deploy.sh", rules.None},

		// Rules that do not count at this place.
		{"deny **", "/usr/bin/git push", rules.None},
		{"deny * *", "/usr/bin/git push", rules.None},
		{"ask **; deny git push **", "/usr/bin/git push", rules.Deny},
		{"deny CC=clang make **", "/usr/bin/make", rules.None},
		{"deny ** --force", "/usr/bin/git push --force", rules.Deny},
		{"deny kill **", "/usr/bin/kill 1", rules.Deny},
	} {
		s := compile(t, rulesOf(strings.Split(test.rules, "; ")...))
		m := s.Program(program(test.program), rules.Sandboxed, programDirs)
		if m.Decision != test.want {
			t.Errorf("%s: %s: %s", test.rules, test.program, printed(m))
		}
		if m.Why != "" || (m.Rule == nil) != (m.Decision == rules.None) || (m.Part == "") != (m.Decision == rules.None) {
			t.Errorf("%s: %s: %+v", test.rules, test.program, m)
		}
	}
}

func TestProgramRulesWithOtherKeys(t *testing.T) {
	for _, test := range []struct {
		rule config.Rule
		want rules.Decision
	}{
		{config.Rule{Tool: "shell", Decision: "deny"}, rules.None},
		{config.Rule{Path: "**", Decision: "deny"}, rules.None},
		{config.Rule{Command: "git **", Path: "**", Decision: "deny"}, rules.None},
		{config.Rule{Tool: "shell", Command: "git **", Decision: "deny"}, rules.Deny},
		{config.Rule{Tool: "mcp", Decision: "deny"}, rules.None},
	} {
		s := compile(t, []config.Rule{test.rule})
		if m := s.Program(program("/usr/bin/git push"), rules.Sandboxed, programDirs); m.Decision != test.want {
			t.Errorf("%+v: %s", test.rule, printed(m))
		}
		if s.HasProgramRules() != (test.want == rules.Deny) {
			t.Errorf("%+v: has program rules: %v", test.rule, s.HasProgramRules())
		}
	}
	if compile(t, rulesOf("allow git **")).HasProgramRules() {
		t.Error("an allow rule is no reason to look at programs")
	}
}

// Outside the sandbox, only an allow rule with escalated hides other rules.
func TestProgramOutsideTheSandbox(t *testing.T) {
	plain := compile(t, rulesOf("allow git status", "ask git **"))
	list := rulesOf("allow git status", "ask git **")
	list[0].Escalated = true
	escalated := compile(t, list)
	p := program("/usr/bin/git status")
	for _, test := range []struct {
		set  *rules.Set
		e    rules.Escalation
		want rules.Decision
	}{
		{plain, rules.Sandboxed, rules.None}, {plain, rules.Escalated, rules.Ask}, {plain, rules.EscalationUnknown, rules.Ask},
		{escalated, rules.Sandboxed, rules.Ask}, {escalated, rules.Escalated, rules.None},
	} {
		if m := test.set.Program(p, test.e, programDirs); m.Decision != test.want {
			t.Errorf("%v: %s", test.e, printed(m))
		}
	}
}

// A program that is not known may be any.
func TestUnreadableProgram(t *testing.T) {
	for _, rule := range []string{"deny rm **", "deny ** -f", "ask kill **"} {
		m := compile(t, rulesOf(rule)).Program(rules.Program{Path: "/bin/ls", Args: []string{"ls"}, Unreadable: "it has too many words"}, rules.Sandboxed, programDirs)
		if m.Decision == rules.None || m.Part != "/bin/ls" || m.Why != "it has too many words, so a rule that could match decides" {
			t.Errorf("%s: %s", rule, printed(m))
		}
	}
	if m := compile(t, rulesOf("deny **", "allow ls")).Program(rules.Program{Unreadable: "x"}, rules.Sandboxed, programDirs); m.Decision != rules.None {
		t.Error(printed(m))
	}
}

func TestProgramText(t *testing.T) {
	s := compile(t, rulesOf("deny git **"))
	for words, want := range map[string]string{
		"/usr/bin/git push":                             "git push",
		"/tmp/git:git push":                             "/tmp/git push",
		"/tmp/x:git push":                               "/tmp/x push",
		"/usr/bin/git \xff":                             "git \uFFFD",
		"/usr/bin/git " + strings.Repeat("é", 600):      "git " + strings.Repeat("é", 498) + " …",
		"/lib64/ld-linux-x86-64.so.2 /usr/bin/git push": "/lib64/ld-linux-x86-64.so.2 /usr/bin/git push",
	} {
		if m := s.Program(program(words), rules.Sandboxed, programDirs); m.Part != want {
			t.Errorf("%q: %q", words, m.Part)
		}
	}
	if m := s.Program(rules.Program{Path: "/usr/bin/git"}, rules.Sandboxed, programDirs); m.Decision != rules.Deny || m.Part != "git" {
		t.Errorf("without words: %s", printed(m))
	}
	if m := s.Program(rules.Program{}, rules.Sandboxed, programDirs); m.Decision != rules.Deny {
		t.Errorf("an unknown program: %s", printed(m))
	}
}

// A rule's script is relative to the workspace.
func TestScriptOfAnAllowRule(t *testing.T) {
	s := compile(t, rulesOf("allow bash deploy.sh", "deny bash **"))
	for dir, want := range map[string]rules.Decision{"/code/proj": rules.None, "/code/proj/sub": rules.Deny, "/tmp": rules.Deny, "": rules.Deny} {
		if m := s.Program(rules.Program{Path: "/usr/bin/bash", Args: []string{"bash", "deploy.sh"}, Dir: dir}, rules.Sandboxed, programDirs); m.Decision != want {
			t.Errorf("in %q: %s", dir, printed(m))
		}
	}
}

// A loader in a loader does not make the time grow.
func TestProgramIsBounded(t *testing.T) {
	s := compile(t, rulesOf("deny rm **"))
	if m := s.Program(rules.Program{Path: "/lib/ld.so", Args: append(slices.Repeat([]string{"ld.so", "--y"}, 30), "ls")}, rules.Sandboxed, programDirs); m.Decision != rules.None {
		t.Errorf("few words: %s", printed(m))
	}
	if m := s.Program(rules.Program{Path: "/bin/busybox", Args: slices.Repeat([]string{"-busybox"}, 2000)}, rules.Sandboxed, programDirs); m.Decision != rules.Deny {
		t.Errorf("applets of applets: %s", printed(m))
	}
	for _, word := range []string{"ld.so", "busybox", "--x", "git-x", "bash", "-x"} {
		for _, n := range []int{100, 200, 20_000} {
			args := slices.Repeat([]string{"ld.so", "--y", word}, n/3)
			s.Program(rules.Program{Path: "/lib/ld.so", Args: args, Dir: "/"}, rules.Sandboxed, programDirs)
			if m := s.Program(rules.Program{Path: "/lib/ld.so", Args: append(args, "rm", "x")}, rules.Sandboxed, programDirs); m.Decision != rules.Deny {
				t.Errorf("%d times %s: %s", n, word, printed(m))
			}
		}
	}
}

// drawProgram draws a program whose words are those of the rules of drawRule.
func drawProgram(t *rapid.T) rules.Program {
	words := []string{"git", "push", "status", "log", "ls", "rm", "-f", "--force", "x", "-C", "bash", "-c", "env", "sudo", "find", "busybox", "ld.so", "A=1", "--argv0", ""}
	p := rules.Program{
		Path: rapid.SampledFrom([]string{"/usr/bin/", "/opt/", "/code/proj/", ""}).Draw(t, "folder") + rapid.SampledFrom(words).Draw(t, "name"),
		Args: rapid.SliceOfN(rapid.SampledFrom(words), 0, 6).Draw(t, "args"),
		Dir:  rapid.SampledFrom([]string{"/code/proj", "/tmp", ""}).Draw(t, "dir"),
	}
	if rapid.Bool().Draw(t, "usual") {
		p.Args = append([]string{path.Base(p.Path)}, p.Args...)
	}
	return p
}

// A program that is denied by its words is denied in each folder, in any case, and if a loader loads it.
func TestProgramsAreDeniedByTheirWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := drawRule(t)
		one.Decision = "deny"
		s := compile(t, []config.Rule{one})
		p := drawProgram(t)
		if s.Program(p, rules.Sandboxed, programDirs).Decision != rules.Deny {
			return
		}
		other := p
		other.Path = rapid.SampledFrom([]string{"/", "/a/b/", "/code/proj/x/", "./"}).Draw(t, "other folder") + path.Base(p.Path)
		if rapid.Bool().Draw(t, "upper") {
			other.Path = strings.ToUpper(other.Path) + ".EXE"
		}
		for _, q := range []rules.Program{
			other,
			{Path: "/x/link", Resolved: p.Path, Args: p.Args, Dir: p.Dir},
			{Path: "/x/ld.so.1", Args: append([]string{"ld.so.1", "--argv0", "", p.Path}, p.Args[min(1, len(p.Args)):]...), Dir: p.Dir},
		} {
			if p.Path == "" || len(p.Args) == 0 || p.Args[0] != path.Base(p.Path) {
				continue // another name counts besides
			}
			if m := s.Program(q, rules.Sandboxed, programDirs); m.Decision != rules.Deny && !strings.HasPrefix(one.Command, "/") {
				t.Fatalf("%s: %+v is denied, %+v is not", one.Command, p, q)
			}
		}
	})
}

// One more deny rule permits nothing more, and the order of the layers does not count.
func TestProgramRulesOnlyTighten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layers, p := drawLayers(t), drawProgram(t)
		e := rapid.SampledFrom(escalations).Draw(t, "escalation")
		before := compile(t, layers...).Program(p, e, programDirs)
		more := slices.Clone(layers)
		i := rapid.IntRange(0, len(more)-1).Draw(t, "layer")
		denied := drawRule(t)
		denied.Decision = "deny"
		more[i] = slices.Insert(slices.Clone(more[i]), rapid.IntRange(0, len(more[i])).Draw(t, "place"), denied)
		after := compile(t, more...).Program(p, e, programDirs)
		slices.Reverse(more)
		reversed := compile(t, more...).Program(p, e, programDirs)
		if after.Decision < before.Decision || after.Decision != reversed.Decision || before.Decision == rules.Allow {
			t.Fatalf("%+v: %s, then %s, reversed %s", p, printed(before), printed(after), printed(reversed))
		}
	})
}

func FuzzProgram(f *testing.F) {
	for _, words := range []string{"git push", "ld.so --argv0 x git push", "busybox --x git push", "bash -x git push", "git-push", "\xff \x00", "", "coreutils --coreutils-prog=git push"} {
		f.Add("/usr/bin/"+words, words, "/code/proj")
	}
	set := compile(f, rulesOf("allow git status", "deny git push **", "ask {rm,l*} ** -f **"))
	f.Fuzz(func(t *testing.T, file, words, dir string) {
		p := rules.Program{Path: file, Args: strings.Split(words, " "), Dir: dir}
		m := set.Program(p, rules.Sandboxed, programDirs)
		if m.Decision == rules.Allow || (m.Rule == nil) != (m.Decision == rules.None) || len(m.Part) > 1100 {
			t.Errorf("%+v: %s", p, printed(m))
		}
		if len(p.Args) > 1 && p.Args[1] == "push" && (strings.HasSuffix(file, "/git") || p.Args[0] == "git") && m.Decision != rules.Deny {
			t.Errorf("%+v is not denied: %s", p, printed(m))
		}
	})
}

// The program that a loader runs is the one that the process sees.
func TestProgramOfLoaderByTheProcess(t *testing.T) {
	set := compile(t, rulesOf("deny git push **"))
	for _, test := range []struct {
		file string // behind the links of ./x
		err  error
		want rules.Decision
	}{
		{"/usr/bin/git", nil, rules.Deny},
		{"/usr/bin/ls", nil, rules.None},
		{"", fs.ErrNotExist, rules.None},
		{"", errors.New("it can't be determined"), rules.Deny},
	} {
		p := program("/lib64/ld-linux-x86-64.so.2 ./x push")
		p.Follow = func(path string) (string, error) {
			if path != "./x" {
				t.Error(path)
			}
			return test.file, test.err
		}
		if m := set.Program(p, rules.Sandboxed, programDirs); m.Decision != test.want {
			t.Errorf("%+v: %s", test, printed(m))
		}
	}
}
