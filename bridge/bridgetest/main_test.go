package bridgetest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }

// Tests have an empty home folder, and the folders of programs are below it.
func TestHomeIsEmpty(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil || !strings.HasPrefix(home, os.TempDir()) {
		t.Fatal(home, err)
	}
	if files, err := os.ReadDir(home); err != nil || len(files) > 0 {
		t.Errorf("the home folder has %v, %v", files, err)
	}
	for _, variable := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "CODEX_HOME"} {
		if path := os.Getenv(variable); !strings.HasPrefix(path, home) {
			t.Errorf("%s is %s", variable, path)
		}
	}
}

// The home folder of the tests is removed at their end.
func TestHomeIsRemoved(t *testing.T) {
	folder := t.TempDir()
	tests := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHomeIsEmpty$", "-test.v")
	tests.Env = append(os.Environ(), "TMPDIR="+folder, "TMP="+folder)
	if out, err := tests.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestHomeIsEmpty") {
		t.Fatalf("%v: %s", err, out)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
