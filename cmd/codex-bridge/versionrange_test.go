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

// Without enforce, the bridge uses a Codex that codex.min_version or codex.max_version excludes, and logs a warning.
func TestExcludedCodexIsLoggedWithoutEnforce(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	for _, c := range []struct{ name, config, want string }{
		{"off", "[codex]\nmin_version = \"0.170.0\"\n", "codex is 0.169.0; 0.170.0 or later is needed"},
		{"audit", "[codex]\nmin_version = \"0.170.0\"\n[policy]\nmode = \"audit\"\n", "config.toml:2"},
		{"newer, off", "[codex]\nmax_version = \"0.168.0\"\n", "codex is 0.169.0; codex.max_version allows no later one than 0.168.0"},
		{"newer, audit", "[codex]\nmax_version = \"0.168.0\"\n[policy]\nmode = \"audit\"\n", "config.toml:2"},
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

// A newer Codex than codex.max_version is broken under an enforced policy, and a warning without one.
func TestDoctorOfNewerCodexThanMax(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	for _, c := range []struct{ mode, most, want, detail string }{
		{"off", "0.166.0", "warn    codex", "an enforced policy would refuse it: codex.max_version is 0.166.0 (user "},
		{"audit", "0.166.0", "warn    codex", "config.toml:2)"},
		{"enforce", "0.166.0", "broken  codex", "codex is 0.167.0; codex.max_version allows no later one than 0.166.0 (user "},
		{"enforce", "0.167.0", "ok      codex", "version 0.167.0"},
	} {
		user := filepath.Join(onlyState(t), "config.toml")
		body := "[codex]\nmax_version = \"" + c.most + "\"\ncommand = \"" + codexOf(t, "0.167.0") + "\"\n[policy]\nmode = \"" + c.mode + "\"\n"
		if err := os.WriteFile(user, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("CODEX_BRIDGE_CONFIG", user)
		out, _, _ := commandLine(t, "doctor")
		joined := strings.Join(strings.Fields(out), " ")
		if !strings.Contains(out, c.want) || !strings.Contains(joined, c.detail) || (c.most != "0.167.0") != strings.Contains(joined, "or raise codex.max_version") {
			t.Errorf("%s %s:\n%s", c.mode, c.most, out)
		}
	}
}
