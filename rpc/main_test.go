package rpc_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// captures returns recorded conversations of real clients with Codex 0.169.0, by file name:
// "-in" has the client's lines, "-out" those of Codex.
func captures(t testing.TB, side string) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("../testdata/captures/*-" + side + ".jsonl")
	if err != nil || len(names) == 0 {
		t.Fatalf("no captures of side %q: %v", side, err)
	}
	all := make(map[string][]byte, len(names))
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = text
	}
	return all
}

// capture returns the capture of that name.
func capture(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../testdata/captures", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// captureLines returns the lines of all captures of one side, with their line ends.
func captureLines(t testing.TB, side string) []string {
	t.Helper()
	var lines []string
	for _, text := range captures(t, side) {
		for line := range strings.Lines(string(text)) {
			lines = append(lines, line)
		}
	}
	return lines
}
