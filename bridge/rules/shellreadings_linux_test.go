package rules_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codex-bridge.example/bridge/rules"
)

// The parser and the real shells read generated lines of the grammar as intended.
func TestGrammarInRealShells(t *testing.T) {
	g := &generator{Rand: rand.New(rand.NewPCG(1, 2))}
	for left := amount(4_000, 1_000_000); left > 0 && !t.Failed(); left -= perBatch {
		g.files = 0
		lines := make([]string, min(left, perBatch))
		for i := range lines {
			line, meant := g.line(append(stubs, "true", "false"))
			got, why := rules.ParsePlain(line)
			if why != "" || fmt.Sprint(got) != fmt.Sprint(meant) {
				t.Fatalf("%q: %s, got %q, meant %q", line, why, got, meant)
			}
			lines[i] = line
		}
		compare(t, lines)
		if left%100_000 == 0 {
			t.Log(left, "lines are left")
		}
	}
}

// A mutated line that is still in the grammar has the effect that the parser gives it.
func TestMutationsInRealShells(t *testing.T) {
	g := &generator{Rand: rand.New(rand.NewPCG(3, 4))}
	inside, outside := 0, 0
	for left := amount(2_000, 1_000_000); left > 0 && !t.Failed(); {
		g.files = 0
		var lines []string
		seen := make(map[string]bool) // no two lines write the same file
	mutate:
		for len(lines) < min(left, perBatch) {
			line, _ := g.line(append(stubs, "true", "false"))
			if line = g.mutate(line); rules.Outside(line) != "" {
				outside++
				continue
			}
			commands, _ := rules.ParsePlain(line)
			if !runnable(commands) {
				continue
			}
			var files []string
			for _, c := range commands {
				for _, r := range c.Redirects {
					if r[1] != "" && r[1] != "/dev/null" && r[1] != "in" {
						if seen[r[1]] || slices.Contains(files, r[1]) {
							continue mutate
						}
						files = append(files, r[1])
					}
				}
			}
			for _, file := range files {
				seen[file] = true
			}
			lines = append(lines, line)
			inside++
		}
		compare(t, lines)
		left -= len(lines)
	}
	t.Logf("%d mutated lines are in the grammar, %d outside", inside, outside)
}

// The grammar knows every reserved word and builtin of the installed shells.
func TestShellWords(t *testing.T) {
	for _, list := range [][]string{
		{"bash", "-c", "compgen -bk"},
		{"zsh", "-fc", "print -l ${(k)builtins} ${(k)reswords}"},
	} {
		out, err := exec.CommandContext(t.Context(), list[0], list[1:]...).Output()
		if err != nil {
			t.Fatal(err)
		}
		for word := range strings.FieldsSeq(string(out)) {
			if why := rules.Outside(word); !rules.IsShellWord(word) && why == "" {
				t.Errorf("%s has %q", list[0], word)
			}
		}
	}
}

// Codex passes a line to a shell as one argument, as a login shell or a plain one, and programs
// have paths. Each shell reads each line so, in a separate process.
func TestLinesAsCodexRunsThem(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	dash, err := exec.LookPath("dash")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, stub := range stubs {
		// /etc/profile sets PATH, so no stub is looked up there.
		names = append(names, "bin/"+stub, "./bin/"+stub, filepath.Join(bin, stub), "bin/../bin/"+stub)
		status := map[bool]int{true: 1}[strings.HasPrefix(stub, "no")]
		text := fmt.Sprintf("#!%s\nr=; IFS= read -r r; printf '%%s\\002' 0 %s \"$r\" $# \"$@\" >>'%s/record'; echo E >&2; echo O; exit %d\n", dash, stub, dir, status)
		if err := os.WriteFile(filepath.Join(bin, stub), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "in"), []byte("I\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := &generator{Rand: rand.New(rand.NewPCG(5, 6))}
	for range amount(60, 20_000) {
		line, meant := g.line(names)
		if got, why := rules.ParsePlain(line); why != "" || fmt.Sprint(got) != fmt.Sprint(meant) {
			t.Fatalf("%q: %s, got %q, meant %q", line, why, got, meant)
		}
		want := expected(meant, "I")
		for _, shell := range []string{"bash", "dash", "zsh"} {
			for _, flag := range []string{"-c", "-lc"} {
				record := filepath.Join(dir, "record")
				_ = os.Remove(record)
				cmd := exec.CommandContext(t.Context(), shell, flag, line)
				cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=/nonexistent", "LC_ALL=C"}
				cmd.Path, _ = exec.LookPath(shell)
				_ = cmd.Run() // the status is that of a stub
				got := effect{files: make(map[string]string)}
				if text, err := os.ReadFile(record); err == nil {
					got.commands = records(t, string(text))
				}
				for name, text := range want.files {
					raw, err := os.ReadFile(filepath.Join(dir, name))
					if err != nil || string(raw) != text {
						t.Errorf("%s %s writes with %q to %s %q (%v), the grammar %q", shell, flag, line, name, raw, err, text)
					}
					_ = os.Remove(filepath.Join(dir, name))
				}
				if !slices.Equal(got.commands, want.commands) {
					t.Fatalf("%s %s reads %q as %q, the grammar as %q", shell, flag, line, got.commands, want.commands)
				}
			}
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 3 {
			t.Fatalf("%q left other files: %v (%v)", line, entries, err)
		}
	}
}

// records returns the commands of a record, sorted by their texts.
func records(t *testing.T, text string) (commands []string) {
	t.Helper()
	fields := strings.Split(text, separator)
	for len(fields) > 4 {
		count, err := strconv.Atoi(fields[3])
		if err != nil || len(fields) < 4+count {
			t.Fatalf("the record is broken at %q", fields)
		}
		commands = append(commands, strings.Join(fields[1:4+count], separator))
		fields = fields[4+count:]
	}
	slices.Sort(commands)
	return commands
}
