//go:build !portable && (amd64 || arm64)

package supervise

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/bridge/rules/hiddenlines"
)

// hideShells are the shells of hidden lines, with the least share of the generated lines that each accepts.
var hideShells = []struct {
	argv  []string
	share float64
}{
	{[]string{"bash"}, 0.7},
	{[]string{"dash"}, 0.3},
	{[]string{"zsh", "-f"}, 0.5},
}

// runLines runs lines in a shell, each as a program that Codex starts, in a folder of its own. It returns which of them
// have made $P.
func runLines(t *testing.T, shell []string, lines []string, decide func(context.Context, Start) bool) []bool {
	t.Helper()
	steps := make([][]string, len(lines))
	for i, line := range lines {
		steps[i] = []string{line}
	}
	return runSteps(t, shell, steps, decide)
}

// markerWord stands for the file that a line makes, in its text.
const markerWord = "MARKER"

// runSteps is runLines for several lines in one folder, one after the other. In their text, markerWord is $P.
func runSteps(t *testing.T, shell []string, steps [][]string, decide func(context.Context, Start) bool) []bool {
	t.Helper()
	dir := t.TempDir()
	marker := func(i int) string { return filepath.Join(dir, strconv.Itoa(i), "marker") }
	s := New(Options{Required: true, Decide: decide})
	for i, lines := range steps {
		for j, line := range lines {
			line = strings.ReplaceAll(line, markerWord, marker(i))
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("line%d.%d", i, j)), []byte(line), 0o600); err != nil {
				t.Fatal(err)
			}
			s.Announce(call(line))
		}
	}
	const script = `
		exec 2> /dev/null
		mkfifo done; exec 9<> done; set -m
		for ((i = 0; i < COUNT; i++)); do
			mkdir "$i"; cd "$i"
			for ((j = 0; 1; j++)); do
				[[ -e ../line$i.$j ]] || break
				LINE=$(< ../line$i.$j)
				{ P=$PWD/marker HOME=$PWD "$@" -c "$LINE" < /dev/null >> ../out$i 2>&1; echo >&9; } &
				read -t 30 -u 9 || { echo "line $i did not end: $LINE"; kill -KILL -- -$!; }
				wait $!
			done
			cd ..
		done`
	cmd := exec.Command("bash", append([]string{"-c", script, "codex"}, shell...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), fmt.Sprint("COUNT=", len(steps)))
	var failed bytes.Buffer
	cmd.Stdout = &failed
	if err := s.Start(cmd, (*exec.Cmd).Start); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || failed.Len() > 0 {
		t.Errorf("%v: %s", err, &failed)
	}
	made := make([]bool, len(steps))
	for i := range steps {
		_, err := os.Stat(marker(i))
		made[i] = err == nil
	}
	return made
}

// byRules decides by a rule that denies touch.
func byRules(t *testing.T) func(context.Context, Start) bool {
	t.Helper()
	return byRule(t, "touch **")
}

// byRule decides by a rule that denies a command.
func byRule(t *testing.T, command string) func(context.Context, Start) bool {
	t.Helper()
	set, err := rules.New([][]config.Rule{{{Command: command, Decision: "deny"}}})
	if err != nil {
		t.Fatal(err)
	}
	return func(_ context.Context, start Start) bool {
		return start.Unreadable == "" && !slices.ContainsFunc(start.Programs, func(p Program) bool {
			m := set.Program(rules.Program{Path: p.Path, Resolved: p.File, Args: p.Args, Dir: p.Dir, Follow: start.Follow}, rules.Sandboxed, rules.Dirs{})
			return m.Decision != rules.None
		})
	}
}

func allowAll(context.Context, Start) bool { return true }

// A denied program starts by none of the named lines, in bash and zsh's own in zsh; if CODEX_BRIDGE_WIDE is set, each in
// all shells.
func TestNamedLines(t *testing.T) {
	t.Parallel()
	for _, shell := range hideShells {
		t.Run(shell.argv[0], func(t *testing.T) {
			t.Parallel()
			var lines, names []string
			for _, line := range hiddenlines.Named {
				if os.Getenv("CODEX_BRIDGE_WIDE") != "" || (shell.argv[0] == "zsh") == strings.Contains(line.Name, "zsh") && shell.argv[0] != "dash" {
					lines, names = append(lines, line.Text), append(names, line.Name)
				}
			}
			control, made := runLines(t, shell.argv, lines, allowAll), runLines(t, shell.argv, lines, byRules(t))
			for i, line := range lines {
				if made[i] {
					t.Errorf("%s: %s", names[i], line)
				}
				if !control[i] {
					t.Logf("this shell or machine starts no program by it: %s: %s", names[i], line)
				}
			}
		})
	}
}

// A denied program starts by none of the generated lines: 70 for each shell, and 2,500 if CODEX_BRIDGE_WIDE is set.
func TestGeneratedLines(t *testing.T) {
	t.Parallel()
	count := 70
	if os.Getenv("CODEX_BRIDGE_WIDE") != "" {
		count = 2500
	}
	lines := hiddenlines.Generated(count, 1)
	for _, shell := range hideShells {
		t.Run(shell.argv[0], func(t *testing.T) {
			t.Parallel()
			control, made := runLines(t, shell.argv, lines, allowAll), runLines(t, shell.argv, lines, byRules(t))
			accepted := 0
			for i, line := range lines {
				if control[i] {
					accepted++
				}
				if made[i] {
					t.Errorf("the program started by line %d: %s", i, line)
				}
			}
			t.Logf("%d of %d lines start the program", accepted, count)
			if float64(accepted) < shell.share*float64(count) {
				t.Errorf("only %d of %d lines start the program", accepted, count)
			}
		})
	}
}
