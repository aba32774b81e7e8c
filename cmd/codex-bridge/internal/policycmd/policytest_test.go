package policycmd

import (
	"bytes"
	"path/filepath"
	"testing"
)

// The shipped examples pass, and there are enough of them.
func TestShippedExamplesPass(t *testing.T) {
	t.Setenv("CODEX_BRIDGE_CONFIG", "")
	files, err := filepath.Glob("../../../../docs/examples/policy-tests/*.*")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := (PolicyTestCmd{Files: files, Verbose: true}).Run(&out); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	if n := bytes.Count(out.Bytes(), []byte("\nok ")); n < 40 {
		t.Errorf("%d cases in %q", n, files)
	}
}
