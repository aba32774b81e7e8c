//go:build linux

package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/methods"
)

// Every feature of the installed Codex has a row in bridge/methods/features.txt with its stage and default.
// Decide about a new feature, or one that is on by default: see docs/internals/doors.md.
func TestFeaturesHaveRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{plugins: true})
	list := exec.Command(codexPath, "features", "list")
	list.Env = w.env
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	features, err := methods.Features()
	if err != nil {
		t.Fatal(err)
	}
	rows, kept := map[string]string{}, []string(nil)
	for _, f := range features {
		if f.Until != "" {
			continue
		}
		rows[f.Name] = f.Stage + " " + f.Default
		if f.Control == "pinned" {
			kept = append(kept, f.Name)
		}
	}
	if !slices.Equal(kept, pinned) {
		t.Errorf("pinned in the table: %q; by the bridge: %q", kept, pinned)
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) < 3 {
			continue
		}
		seen++
		name, is := words[0], strings.Join(words[1:], " ")
		if was, ok := rows[name]; !ok {
			t.Errorf("feature %q has no row", name)
		} else if was != is {
			t.Errorf("feature %q is %q, but %q in its row", name, is, was)
		}
	}
	if seen != len(rows) {
		t.Errorf("Codex has %d features, the table %d", seen, len(rows))
	}
}

// The tests that docs/internals/doors.md names exist.
func TestDoorsAreTested(t *testing.T) {
	t.Parallel()
	doors, err := os.ReadFile("../../../docs/internals/doors.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	names := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(doors), -1)
	for _, name := range names {
		if !strings.Contains(code.String(), "func "+name[1]+"(") {
			t.Errorf("%s does not exist", name[1])
		}
	}
	if len(names) == 0 {
		t.Error("docs/internals/doors.md has no test")
	}
}
