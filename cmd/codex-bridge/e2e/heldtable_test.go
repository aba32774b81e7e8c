//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"codex-bridge.example/bridge/codex"
)

// heldRelease is the newest release that the bridge of heldBridge knows. The installed Codex is newer.
const heldRelease = "0.169.0"

// heldBridge returns a bridge with the tables of heldRelease, as a user has it on the day on which Codex updates itself.
func heldBridge(t *testing.T) string {
	t.Helper()
	path, err := buildHeld()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// buildHeld builds the bridge once, with other files in the place of the embedded ones.
var buildHeld = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "held") // in the folder of TestMain
	if err != nil {
		return "", err
	}
	tables, err := filepath.Abs("../../../bridge/methods")
	if err != nil {
		return "", err
	}
	overlay := struct{ Replace map[string]string }{make(map[string]string)}
	for name, file := range map[string]string{"schema.json": "../../internal/releasediff/testdata/codex-" + heldRelease + ".json", "shapes.json": "testdata/shapes-" + heldRelease + ".json"} {
		if overlay.Replace[filepath.Join(tables, name)], err = filepath.Abs(file); err != nil {
			return "", err
		}
	}
	files, err := filepath.Glob(filepath.Join(tables, "*.txt"))
	if err != nil || len(files) < 6 {
		return "", fmt.Errorf("the tables are %q, %w", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		overlay.Replace[file] = filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(overlay.Replace[file], []byte(heldTable(string(text))), 0o600); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	config := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(config, text, 0o600); err != nil {
		return "", err
	}
	program := filepath.Join(dir, "codex-bridge")
	return program, buildProxy(program, "-overlay", config)
})

// heldTable returns a table of package methods as it was for heldRelease: without rows of later releases, and without
// the end of rows that heldRelease still had. A comment names the columns.
func heldTable(text string) string {
	var b strings.Builder
	since, until := -1, -1
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		named := func(name string) int {
			return slices.IndexFunc(cells, func(cell string) bool { return strings.TrimSpace(cell) == name })
		}
		switch {
		case strings.HasPrefix(line, "codex "):
			line = "codex " + heldRelease + "\n"
		case strings.HasPrefix(line, "#") && since < 0 && named("until") > 0:
			since, until = named("since"), named("until")
		case strings.HasPrefix(line, "#"), since < 0, len(cells) <= until:
		default:
			first, last := strings.TrimSpace(cells[since]), strings.TrimSpace(cells[until])
			if first != "" && codex.CompareVersions(first, heldRelease) > 0 {
				continue
			}
			if last != "" && codex.CompareVersions(last, heldRelease) >= 0 {
				cells[until] = " "
				line = strings.Join(cells, "|") + "\n"
			}
		}
		b.WriteString(line)
	}
	return b.String()
}
