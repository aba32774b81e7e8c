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

// An older Codex is no fault unless the policy is enforced. Its sandbox is not tried: the command for
// that has another name.
func TestDoctorOfOlderCodex(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	for _, c := range []struct{ mode, minimum, want string }{
		{"off", "", "ok      codex"}, {"audit", "", "ok      codex"}, {"enforce", "", "broken  codex"},
		{"enforce", "0.125.0", "broken  codex"}, // a lower minimum does not count
	} {
		user := filepath.Join(onlyState(t), "config.toml")
		body := "[codex]\nmin_version = \"" + c.minimum + "\"\ncommand = \"" + codexOf(t, "0.125.0") + "\"\n[policy]\nmode = \"" + c.mode + "\"\n"
		if err := os.WriteFile(user, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("CODEX_BRIDGE_CONFIG", user)
		out, _, _ := commandLine(t, "doctor")
		if !strings.Contains(out, c.want) || !strings.Contains(out, "0.166.0 or later is needed") || strings.Contains(out, "sandbox   ") {
			t.Errorf("%s %s:\n%s", c.mode, c.minimum, out)
		}
	}
}
