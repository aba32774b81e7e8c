//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each test that `make test` leaves out exists, and so does the one that tries the same there.
func TestVariantsFile(t *testing.T) {
	t.Parallel()
	exists := endToEndTests(t)
	text, err := os.ReadFile("variants.txt")
	if err != nil {
		t.Fatal(err)
	}
	stays := make(map[string]string) // by the test that is left out
	for line := range strings.Lines(string(text)) {
		if names := strings.Fields(line); len(names) == 2 {
			stays[names[0]] = names[1]
		} else if !strings.HasPrefix(line, "#") {
			t.Errorf("%q has not two tests", line)
		}
	}
	for left, test := range stays {
		if !exists[left] || !exists[test] || stays[test] != "" {
			t.Errorf("%s is left out for %s: both must exist, and %s must stay", left, test, test)
		}
	}
}

// Each test that core.txt names exists.
func TestCoreFile(t *testing.T) {
	t.Parallel()
	exists := endToEndTests(t)
	text, err := os.ReadFile("core.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if name := strings.TrimSpace(line); !strings.HasPrefix(name, "#") && !exists[name] {
			t.Errorf("core.txt names %q, which is no test", name)
		}
	}
}

// endToEndTests has the names of the tests of this package.
func endToEndTests(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	exists := make(map[string]bool)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`).FindAllSubmatch(text, -1) {
			exists[string(m[1])] = true
		}
	}
	return exists
}
