//go:build !portable && (amd64 || arm64)

package supervise

import (
	"os"
	"slices"
	"testing"

	"codex-bridge.example/bridge/rules/hiddenlines"
)

// A denied program starts by none of the hostile lines. Under a rule for another program it does. Each shell runs some,
// and all of its lines if CODEX_BRIDGE_WIDE is set.
func TestHostileLines(t *testing.T) {
	t.Parallel()
	all, err := hiddenlines.Hostile()
	if err != nil {
		t.Fatal(err)
	}
	lines := make([][]hiddenlines.HostileLine, len(hideShells))
	needed, lacking := hiddenlines.Needed(), make(map[string]int)
	for i, line := range all {
		if need := needed(line); need != "" {
			lacking[need]++
			continue
		}
		for n, shell := range hideShells {
			isSample := i%(20*len(hideShells)) == 20*n
			if (isSample || os.Getenv("CODEX_BRIDGE_WIDE") != "") && (len(line.Shells) == 0 || slices.Contains(line.Shells, shell.argv[0])) {
				lines[n] = append(lines[n], line)
			}
		}
	}
	t.Logf("lines that are not run for lack of a program: %v", lacking)
	for n, shell := range hideShells {
		t.Run(shell.argv[0], func(t *testing.T) {
			t.Parallel()
			var steps [][]string
			for _, line := range lines[n] {
				steps = append(steps, line.Texts(markerWord))
			}
			control, made := runSteps(t, shell.argv, steps, byRule(t, "shred **")), runSteps(t, shell.argv, steps, byRules(t))
			started, count := 0, 0
			for i, texts := range steps {
				if made[i] {
					t.Errorf("it started: %q", texts)
				}
				switch isUnknown := lines[n][i].Unknown; {
				case isUnknown && control[i]:
					t.Errorf("it started though its file or words can't be known: %q", texts)
				case isUnknown:
				case control[i]:
					started++
				default:
					t.Logf("it starts no program: %q", texts)
				}
				if !lines[n][i].Unknown {
					count++
				}
			}
			t.Logf("%d of %d lines start the program, and %d others do not, since they can't be known", started, count, len(steps)-count)
			if started < count*4/5 {
				t.Errorf("only %d of %d lines start the program", started, count)
			}
		})
	}
}
