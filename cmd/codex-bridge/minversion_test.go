//go:build unix

package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Without enforce, the bridge uses a Codex older than codex.min_version and logs a warning.
func TestOlderCodexIsLoggedWithoutEnforce(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	for _, c := range []struct{ name, config, want string }{
		{"off", "[codex]\nmin_version = \"0.170.0\"\n", "codex is 0.169.0; 0.170.0 or later is needed"},
		{"audit", "[codex]\nmin_version = \"0.170.0\"\n[policy]\nmode = \"audit\"\n", "config.toml:2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file, err := os.Create(filepath.Join(t.TempDir(), "log"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			assembleWithLog(t, c.config, slog.New(slog.NewTextHandler(file, nil)))
			for late := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				text, err := os.ReadFile(file.Name())
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(text), c.want) {
					return
				}
				if time.Now().After(late) {
					t.Fatalf("the log has no %q:\n%s", c.want, text)
				}
			}
		})
	}
}
