package rules_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

// keywordLines are the keywords, clauses and builtins that the parser or a shell treats specially. In
// each line K stands for the spelling of the first word, and mk for the command that a rule denies.
var keywordLines = [][2]string{
	{"let", "K 'a[$(mk)]=1'"}, {"let", "x='a[$(mk)]'; K x"}, {"let", "x='a[$'; K \"${x}\"'(mk)]=1'"},
	{"declare", "K 'a[$(mk)]=1'"}, {"declare", "K -i x='a[$(mk)]'"}, {"declare", "K -n x='a[$(mk)]'; x=1"},
	{"typeset", "K 'a[$(mk)]=1'"}, {"typeset", "K -i x='a[$(mk)]'"}, {"typeset", "K -F x='a[$(mk)]'"},
	{"local", "f() { K -i x='a[$(mk)]'; }; f"}, {"local", "f() { K 'a[$(mk)]=1'; }; f"}, {"private", "f() { K -i x='a[$(mk)]'; }; f"},
	{"export", "K 'a[$(mk)]=1'"}, {"export", "K BASH_ENV=./mkfile; bash -c :"}, {"export", "K \"PS4=\\$(mk)\"; bash -xc :"},
	{"readonly", "K -i x='a[$(mk)]'"}, {"readonly", "K 'a[$(mk)]=1'"}, {"nameref", "K x='a[$(mk)]'; x=1"}, {"integer", "K x='a[$(mk)]'"}, {"float", "K x='a[$(mk)]'"},
	{"unset", "a=(1); K 'a[$(mk)]'"}, {"read", "echo 1 | K 'a[$(mk)]'"}, {"read", "K BASH_ENV <<< ./mkfile; export BASH_ENV; bash -c :"}, {"getopts", "K a 'a[$(mk)]' -a"},
	{"printf", "K -v 'a[$(mk)]' x"}, {"printf", "K %d 'a[$(mk)]'"}, {"mapfile", "echo 1 | K -C mk -c 1 x"}, {"wait", "true & K -n -p 'a[$(mk)]'"},
	{"test", "K -v 'a[$(mk)]'"}, {"test", "K 'a[$(mk)]' -eq 1"}, {"[", "K -v 'a[$(mk)]' ]"}, {"[[", "K -v 'a[$(mk)]' ]]"}, {"[[", "K 'a[$(mk)]' -eq 1 ]]"},
	{"eval", "K mk"}, {"eval", "K 'm\\k'"}, {"exec", "K mk"}, {"time", "K mk"}, {"time", "K -p mk"}, {"coproc", "K mk; wait"}, {"command", "K mk"}, {"builtin", "K eval mk"},
	{"noglob", "K mk"}, {"nocorrect", "K mk"}, {"-", "K mk"}, {"repeat", "K 1 mk"}, {"trap", "K mk EXIT"}, {"alias", "K x=mk; eval x"},
	{"function", "K f { mk; }; f"}, {"select", "echo 1 | K x in a; do mk; break; done"}, {"if", "K mk; then :; fi"}, {"while", "K mk; do break; done"}, {"!", "K mk"},
	{"print", "setopt promptsubst; K -P '$(mk)'"}, {"set", "K -- mk; $1"}, {"emulate", "K sh -c mk"}, {"functions", "K -M x 0 0 mk"}, {"sched", "K +0 mk"}, {"hash", "K x=$(command -v mk); x"},
	{"shift", "K 'a[$(mk)]'"}, {"return", "f() { K 'a[$(mk)]'; }; f"}, {"exit", "K 'a[$(mk)]'"}, {"break", "while :; do K 'a[$(mk)]'; exit; done"},
	{"env", "K =mk"}, {"command", "K -p =mk"}, {"setsid", "K -w =mk"}, {"nice", "K =mk"}, {"repeat", "K 1 =mk"}, {"mk", "K"}, {"mk", "{K}"}, {"mk", "{K a}"}, {"mk", "true && {K b}"},
}

// spellings are forms of a word that a shell may read alike.
var spellings = []string{
	"%s", "'%s'", `"%s"`, `\%s`, "''%s", `%s""`, "builtin %s", "builtin '%s'", `command \%s`, "command %s", "command -p '%s'", "builtin command %s", "builtin builtin %s",
	"noglob %s", "nocorrect '%s'", "- %s", "exec %s", "env %s", "nice \\%s", "x=1 %s", "x=1 '%s'", "{%s", "$'%s'", `$"%s"`, "=%s", "time '%s'", "! %s", "eval %s", `eval '\%s'`, "true; '%s'",
}

// A line that runs a denied command in a real shell is denied for this shell, however its keywords
// and builtins are spelled.
func TestKeywordsInRealShells(t *testing.T) {
	set := compile(t, []config.Rule{{Command: "mk **", Decision: "deny"}})
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"bin/mk": "#!/bin/sh\n: > \"$MARK\"\necho 1\n", "mkfile": "mk\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bash", "dash", "zsh", "sh", "env", "nice", "setsid", "true"} {
		if program, err := exec.LookPath(name); err == nil {
			_ = os.Symlink(program, filepath.Join(bin, name))
		}
	}
	var lines []string
	for _, line := range keywordLines {
		for _, spelling := range spellings {
			lines = append(lines, strings.Replace(line[1], "K", fmt.Sprintf(spelling, line[0]), 1))
		}
	}
	rand.New(rand.NewPCG(7, 8)).Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	ran := make(map[string]string) // by the file that mk leaves
	for _, line := range lines[:min(len(lines), amount(300, len(lines)))] {
		for _, shell := range []string{"bash", "dash", "zsh"} {
			if set.Shell(line, shell, rules.Sandboxed, rules.Dirs{Workspace: dir, Cwd: dir, Home: "/nonexistent"}).Decision == rules.Deny {
				continue
			}
			mark := filepath.Join(dir, fmt.Sprintf("mark%d", len(ran)))
			ran[mark] = shell + " " + line
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			cmd := exec.CommandContext(ctx, shell, "-c", line)
			cmd.Path = filepath.Join(bin, shell)
			cmd.Dir, cmd.Env = dir, []string{"PATH=" + bin, "MARK=" + mark, "HOME=/nonexistent", "LC_ALL=C"}
			cmd.WaitDelay = time.Second
			_ = cmd.Run() // most of the lines fail
			cancel()
		}
	}
	for mark, line := range ran {
		if _, err := os.Stat(mark); err == nil {
			t.Errorf("it runs mk, and no rule denies it: %q", line)
		}
	}
	t.Logf("%d lines are not denied", len(ran))
}

// Each file that apply_patch gets from a here-document in a real shell is one that the line changes.
func TestHereDocumentsInRealShells(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "apply_patch"), []byte("#!/bin/sh\n/bin/cat\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	g := &generator{Rand: rand.New(rand.NewPCG(9, 10))}
	read := 0
	for range amount(150, 20_000) {
		line := "x='\n*** Add File: e'\napply_patch " + g.pick("<<", "<<", "<<-", "0<<", "3<<") + g.pick("'E'", "'E'", `"E"`, "E", "E''", `\E`, "$'E'") + "\n*** Begin Patch\n"
		for range 1 + g.IntN(6) {
			line += g.pick("*** Add File: a", "*** Add File: b", "*** Add \\\nFile: c", "$x", "${x}", "`echo '*** Add File: d'`", "+\\", "\\", "'", `"`, "E ", "\tE", "\\E", "+x", "#") + g.pick("\n", "\n", "\n", "\n", "\\\n")
		}
		line += g.pick("*** End Patch\nE\n", "E\n", "\tE\n", "E\n:\nE\n")
		for _, shell := range []string{"bash", "dash", "zsh"} {
			changes, anyFile := rules.ChangedFiles(line, shell, rules.Dirs{Workspace: "/w", Cwd: "/w"})
			if anyFile {
				continue
			}
			read++
			cmd := exec.CommandContext(t.Context(), shell, "-c", line)
			cmd.Dir, cmd.Env = dir, []string{"PATH=" + dir, "LC_ALL=C"}
			out, _ := cmd.Output() // the shell may refuse the line
			for _, file := range rules.PatchedFiles(string(out)) {
				if !slices.ContainsFunc(changes, func(c rules.ChangedFile) bool { return c.Path == "/w/"+file || c.Path == "*/"+file }) {
					t.Errorf("%s applies a patch of %q, not in %v: %q", shell, file, changes, line)
				}
			}
		}
	}
	t.Logf("%d lines have known files", read)
}
