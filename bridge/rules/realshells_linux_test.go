package rules_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"codex-bridge.example/bridge/rules"
)

// These tests compare the grammar with the real bash, dash and zsh. They never generate the
// name of a real program: a line runs only if each of its commands is a stub that records
// its arguments and input.

// realShells are the shells, without configuration of the user.
var realShells = [][]string{{"bash", "--norc", "--noprofile"}, {"dash"}, {"zsh", "-f"}}

// stubs are the names of the stubs. Names that start with no exit with 1, others with 0.
var stubs = []string{"ok1", "ok2", "no1", "no2"}

// effect is the effect of a line: its commands, each with its words and input, and the content of
// the files.
type effect struct {
	commands []string
	files    map[string]string
}

// expected returns the effect of a line according to parsePlain. Every command is a stub, or a
// builtin without effect. input is the content of each input file.
func expected(commands []rules.PlainCommand, input string) effect {
	e := effect{files: make(map[string]string)}
	run, status := true, 0
	for i := 0; i < len(commands); {
		first := i
		for commands[i].Operator == "|" {
			i++
		}
		i++
		if run {
			for j := first; j < i; j++ {
				before := ""
				if j > first && isStub(commands[j-1].Words[0]) {
					before = "O"
					if slices.Contains(commands[j-1].Redirects, [2]string{"2>&1", ""}) {
						before = "E" // the stub writes E first
					}
				}
				status = e.run(commands[j], before, input)
			}
		}
		switch commands[i-1].Operator {
		case "&&":
			run = status == 0
		case "||":
			run = status != 0
		default:
			run = true
		}
	}
	slices.Sort(e.commands)
	return e
}

func isStub(name string) bool { return slices.Contains(stubs, base(name)) }

func base(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

func (e *effect) run(c rules.PlainCommand, before, input string) int {
	out, err, read := "", "", before
	for _, r := range c.Redirects {
		switch operator, target := r[0], r[1]; operator {
		case "<":
			if read = input; target == "/dev/null" {
				read = ""
			}
		case "2>&1":
			err = out
		case "1>&2", ">&2":
			out = err
		case ">", ">>", "1>", "1>>":
			out = target
		case "2>", "2>>":
			err = target
		}
		if r[1] != "" && r[0] != "<" && r[1] != "/dev/null" {
			e.files[r[1]] += ""
		}
	}
	name := base(c.Words[0])
	if !isStub(name) {
		return map[bool]int{true: 1}[name == "false"]
	}
	if err != "" && err != "/dev/null" {
		e.files[err] += "E\n"
	}
	if out != "" && out != "/dev/null" {
		e.files[out] += "O\n"
	}
	e.commands = append(e.commands, strings.Join(append([]string{name, read, strconv.Itoa(len(c.Words) - 1)}, c.Words[1:]...), separator))
	return map[bool]int{true: 1}[strings.HasPrefix(name, "no")]
}

// runnable reports whether each command of a line is a stub, true or false, and whether the line
// writes only files of the test.
func runnable(commands []rules.PlainCommand) bool {
	for _, c := range commands {
		if !slices.Contains(stubs, c.Words[0]) && c.Words[0] != "true" && c.Words[0] != "false" {
			return false
		}
		for _, r := range c.Redirects {
			if r[0] != "<" && r[1] != "" && r[1] != "/dev/null" && (!strings.HasPrefix(r[1], "out") || strings.Contains(r[1], "/")) || r[0] == "<" && r[1] != "in" && r[1] != "/dev/null" {
				return false
			}
		}
	}
	return true
}

// generator generates lines of the grammar.
type generator struct {
	*rand.Rand
	files int
}

func (g *generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g *generator) blanks() string { return strings.Repeat(" ", 1+g.IntN(8)/7) }

const (
	plainBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-,:@%"
	printable  = " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"
)

// word returns the text of a word and its value.
func (g *generator) word() (text, value string) {
	if g.IntN(4) == 0 {
		one := g.pick("-n", "./...", "--flag=value", "a=b", "''", `""`, "if", "then", "done", "}x", "time", "2", "%1", "-", "--", "HEAD@", "a:b", "eval", "'{a,b}'", `"*"`, "'~'", `"~"`, "a='~'", "=", "x:'~'", "'=ls'", "[", "'['", "]", "!", "'!'", `"!!"`, "a,b", "+x", "@", "//", "-e", "'$(no1)'", "'`no1`'", `'\'`, `"a;no1"`, "'|'", "'>'out", "-C", "do", "fi", "esac", "in")
		if quoted := strings.Trim(one, `'"`); quoted == one && strings.Trim(one, plainBytes+"=") == "" && one[0] != '=' {
			return one, one
		} else if len(one) > 1 && (one[0] == '\'' || one[0] == '"') && one[len(one)-1] == one[0] {
			return one, one[1 : len(one)-1]
		}
	}
	for n := 1 + g.IntN(3); n > 0; n-- {
		switch kind := g.IntN(6); {
		case kind == 0 && !strings.HasSuffix(text, "'"):
			inner := g.some(strings.ReplaceAll(printable, "'", ""))
			text, value = text+"'"+inner+"'", value+inner
		case kind == 1 && !strings.HasSuffix(text, `"`):
			inner := g.some(strings.NewReplacer(`"`, "", "$", "", "`", "", `\`, "").Replace(printable))
			text, value = text+`"`+inner+`"`, value+inner
		default:
			inner := g.some(plainBytes) + string(plainBytes[g.IntN(len(plainBytes))])
			if g.IntN(6) == 0 && strings.IndexByte("+,:@%/", inner[len(inner)-1]) < 0 {
				inner += "="
			}
			text, value = text+inner, value+inner
		}
	}
	return text, value
}

func (g *generator) some(of string) string {
	b := make([]byte, g.IntN(5))
	for i := range b {
		b[i] = of[g.IntN(len(of))]
	}
	return string(b)
}

// line returns a line of the grammar and its commands.
func (g *generator) line(names []string) (text string, commands []rules.PlainCommand) {
	var b strings.Builder
	b.WriteString(g.pick("", "", "", " ", "\n", "\n  \n "))
	piped := false
	for n := 1 + g.IntN(3); n > 0; n-- {
		c := rules.PlainCommand{Words: []string{g.pick(names...)}}
		c.Operator = g.pick("&&", "||", "|", ";", "\n")
		if n == 1 {
			c.Operator = g.pick("", "", "", ";", "\n")
		}
		b.WriteString(c.Words[0])
		used := [3]bool{piped, c.Operator == "|", false}
		for range g.IntN(4) {
			b.WriteString(g.blanks())
			if g.IntN(3) > 0 {
				text, value := g.word()
				b.WriteString(text)
				c.Words = append(c.Words, value)
				continue
			}
			operator := g.pick("2>&1", "1>&2", ">&2", ">", ">>", "1>", "1>>", "2>", "2>>", "<")
			descriptor := map[byte]int{'2': 2, '<': 0}[operator[0]]
			if operator[0] == '1' || operator[0] == '>' {
				descriptor = 1
			}
			if used[descriptor] {
				b.WriteString("x")
				c.Words = append(c.Words, "x")
				continue
			}
			used[descriptor] = true
			target := ""
			b.WriteString(operator)
			if !strings.Contains(operator, "&") {
				g.files++
				target = g.pick("/dev/null", "out"+strconv.Itoa(g.files))
				if operator == "<" {
					target = g.pick("/dev/null", "in")
				}
				b.WriteString(g.pick("", " ", "  ") + g.pick(target, target, "'"+target+"'", `"`+target+`"`))
			}
			c.Redirects = append(c.Redirects, [2]string{operator, target})
		}
		b.WriteString(g.pick("", " ", "  "))
		b.WriteString(c.Operator)
		b.WriteString(g.pick("", " "))
		if n > 1 && c.Operator != "" {
			b.WriteString(g.pick("", "", "\n", " \n\n "))
		}
		commands = append(commands, c)
		piped = c.Operator == "|"
	}
	if last := &commands[len(commands)-1]; last.Operator == ";" || last.Operator == "\n" {
		b.WriteString(g.pick("", "\n", " "))
	}
	return b.String(), commands
}

// mutations are texts that mutate inserts into lines.
var mutations = []string{
	"$", "`", "\\", "'", "\"", ";", "&", "|", "<", ">", "(", ")", "{", "}", "[", "]", "*", "?", "~", "#", "!", "^", "=", "%", "\n", "\t", "\r", "\f", "\v", "\x00", "\x01", "\x7f", "\u00a0", "\u2028", "\xff", " ", "  ", "-", "+", "\\\n",
	"&&", "||", ";;", "|&", "&>", ">&", "<&", "<&-", ">|", ">!", "<<", "<<<", "<>", "$(", "${", "$'", "$\"", "<(", ">(", "=(", "((", "[[", "2>&1", ">&1", "&1", "2>", "0<", "3>", "''", "\"\"", "'\"'",
	"if ", "then ", "do ", "for ", "time ", "exec ", "eval ", "noglob ", "- ", "! ", "{ ", "a=b ", "=ok1", "~+", "ok1", " no1 ", " ok2", "-ok1", "%ok1", ":", "@", ",", "+(", "@(", "x()",
}

func (g *generator) mutate(line string) string {
	for range 1 + g.IntN(3) {
		at := g.IntN(len(line) + 1)
		switch g.IntN(5) {
		case 0:
			line = line[:at] + string([]byte{byte(g.IntN(256))}) + line[at:]
		case 1:
			if at < len(line) {
				line = line[:at] + line[at+1:]
			}
		case 2:
			if to := at + g.IntN(4); to <= len(line) {
				line = line[:at] + g.pick(mutations...) + line[to:]
			}
		default:
			line = line[:at] + g.pick(mutations...) + line[at:]
		}
	}
	return line
}

// separator ends each field of a record. bash would write a record with newlines in pieces.
const separator = "\x02"

// batch is the start of a script in which a shell reads many lines one by one.
const batch = `PATH=/nonexistent
s() { n=$1 s=$2; shift 2; r=; IFS= read -r r; printf '%s\002' "$N" "$n" "$r" $# "$@" >&9; echo E >&2; echo O; return $s; }
ok1() { s ok1 0 "$@"; }
ok2() { s ok2 0 "$@"; }
no1() { s no1 1 "$@"; }
no2() { s no2 1 "$@"; }
`

// measure makes a shell read the lines, and returns the effect of each.
func measure(t *testing.T, shell, lines []string) []effect {
	t.Helper()
	dir := t.TempDir()
	defer os.RemoveAll(dir) // there are many folders
	var script bytes.Buffer
	script.WriteString(batch)
	for i, line := range lines {
		// Each line has files of its own.
		fmt.Fprintf(&script, "N=%d\neval '%s'\n", i, strings.ReplaceAll(line, "'", `'\''`))
	}
	script.WriteString("N=end; ok1\n")
	for name, text := range map[string]string{"script": script.String(), "in": "I\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	record, err := os.OpenFile(filepath.Join(dir, "record"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer record.Close()
	program, err := exec.LookPath(shell[0])
	if err != nil {
		t.Fatalf("%v: sh testdata/shells.sh installs it", err)
	}
	cmd := exec.CommandContext(t.Context(), program, append(shell[1:len(shell):len(shell)], "script")...)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "ZDOTDIR=" + dir, "LC_ALL=C"}
	cmd.ExtraFiles = []*os.File{nil, nil, nil, nil, nil, nil, record} // 9
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	_ = cmd.Run() // the test checks the end of the record below
	text, err := os.ReadFile(filepath.Join(dir, "record"))
	if err != nil {
		t.Fatal(err)
	}
	effects := make([]effect, len(lines))
	fields, ended := strings.Split(string(text), separator), false
	for len(fields) > 4 {
		count, err := strconv.Atoi(fields[3])
		if err != nil || len(fields) < 4+count {
			t.Fatalf("%s: the record is broken at %q", shell[0], fields[:4])
		}
		if fields[0] == "end" {
			ended = true
		} else if i, err := strconv.Atoi(fields[0]); err == nil {
			effects[i].commands = append(effects[i].commands, strings.Join(fields[1:4+count], separator))
		}
		fields = fields[4+count:]
	}
	if !ended {
		t.Fatalf("%s ended before its last line: %.2000s", shell[0], stderr.String())
	}
	files := make(map[string]string)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		switch name := entry.Name(); name {
		case "script", "in", "record":
		default:
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			files[name] = string(text)
		}
	}
	for i := range effects {
		slices.Sort(effects[i].commands)
		effects[i].files = files
	}
	return effects
}

// compare makes the shells read the lines, and compares their effects with the parsed commands.
func compare(t *testing.T, lines []string) {
	t.Helper()
	var wait sync.WaitGroup
	results := make([][]effect, len(realShells))
	for i, shell := range realShells {
		wait.Go(func() { results[i] = measure(t, shell, lines) })
	}
	wait.Wait()
	for k, got := range results {
		if got == nil {
			return
		}
		all := make(map[string]string)
		for i, line := range lines {
			commands, _ := rules.ParsePlain(line)
			want := expected(commands, "I")
			if !slices.Equal(want.commands, got[i].commands) {
				t.Errorf("%s reads %q as %q, the grammar as %q", realShells[k][0], line, got[i].commands, want.commands)
			}
			for name, text := range want.files {
				if all[name] = text; got[i].files[name] != text {
					t.Errorf("%s writes with %q to %s %q, the grammar %q", realShells[k][0], line, name, got[i].files[name], text)
				}
			}
		}
		for name := range got[0].files {
			if _, ok := all[name]; !ok {
				t.Errorf("%s writes to %s, which no line does", realShells[k][0], name)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// amount returns how many lines to try: wide if CODEX_BRIDGE_WIDE is 1.
func amount(small, wide int) int {
	if os.Getenv("CODEX_BRIDGE_WIDE") == "1" {
		return wide
	}
	return small
}

// perBatch is the number of lines in one script.
const perBatch = 2000
