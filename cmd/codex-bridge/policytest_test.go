package main

import (
	"bytes"
	"path/filepath"
	"testing"
)

// The examples that ship are right, run as a person would run them, and there are
// enough of them to learn from.
func TestExamples(t *testing.T) {
	t.Setenv("CODEX_BRIDGE_CONFIG", "")
	files, err := filepath.Glob("../../docs/examples/policy-tests/*.*")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := (policyTestCmd{Files: files, Verbose: true}).Run(&out); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	if n := bytes.Count(out.Bytes(), []byte("\nok ")); n < 40 {
		t.Errorf("%d cases in %q", n, files)
	}
}
