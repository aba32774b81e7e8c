package doctor

import (
	"os"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
)

// TestDoctorNamesFilesInPlaceOfFolders checks the row about an empty read-only file above a protected path. One that is the
// protected path itself stops no command.
func TestDoctorNamesFilesInPlaceOfFolders(t *testing.T) {
	cfg := config.Default()
	cfg.Policy.Mode, cfg.Policy.ProtectedPaths = config.Enforce, []string{".github/workflows", ".github/actions", "py.typed", "ci/x"}
	t.Chdir(t.TempDir())
	for name, mode := range map[string]os.FileMode{".github": 0o444, "py.typed": 0o444, "ci": 0o644} {
		if err := os.WriteFile(name, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if all := examineLeftOvers(cfg); len(all) != 1 || all[0].State != Warn || !strings.Contains(all[0].Detail, "/.github is an empty read-only file") {
		t.Errorf("%v", all)
	}
}
