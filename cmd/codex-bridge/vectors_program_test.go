//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/bridgetest/vectors"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
)

// threeNumbers matches a version in the output of "codex --version".
var threeNumbers = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+([-+].*)?$`)

// codexOf writes a Codex of this version that prints its environment for "codex exec".
func codexOf(t *testing.T, version string) (path string) {
	t.Helper()
	path = filepath.Join(folderOutsideTemp(t), "codex")
	body := fmt.Sprintf("#!/bin/sh\ncase \"$1\" in --version) echo 'codex-cli %s';; exec) /usr/bin/env;; esac\n", version)
	if err := os.WriteFile(path, []byte(body), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// For versions a and b: an enforced policy with the lowest version b starts with a if a is not
// older.
func TestVersionVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	var v struct {
		MinVersion     string
		VersionCompare []struct {
			A, B string
			Cmp  int
		}
	}
	vectors.Read(t, "client.json", &v)
	if len(v.VersionCompare) == 0 {
		t.Fatal("no cases")
	}
	// The bridge's own minimum is higher: enforcement needs a verified release.
	if codex.CheckVersion(config.Default().Codex.MinVersion, v.MinVersion) != nil {
		t.Errorf("the default of codex.min_version is %s, older than the floor %s", config.Default().Codex.MinVersion, v.MinVersion)
	}
	for _, c := range v.VersionCompare {
		for _, pair := range []struct {
			have, least string
			cmp         int
		}{{c.A, c.B, c.Cmp}, {c.B, c.A, -c.Cmp}} {
			if !threeNumbers.MatchString(pair.have) || !threeNumbers.MatchString(pair.least) {
				continue // see DEVIATIONS.md
			}
			t.Run(pair.have+" "+pair.least, func(t *testing.T) {
				folder := onlyState(t)
				user := filepath.Join(folder, "config.toml")
				body := fmt.Sprintf("[codex]\ncommand = %q\nmin_version = %q\n", codexOf(t, pair.have), pair.least)
				if err := os.WriteFile(user, []byte(body), 0o600); err != nil {
					t.Fatal(err)
				}
				t.Setenv("CODEX_BRIDGE_CONFIG", user)
				out, said, _ := commandLine(t, "doctor")
				older := strings.Contains(out+said, "or later is needed")
				if !strings.Contains(out, pair.have) || older != (pair.cmp < 0) {
					t.Errorf("older %v, want %v:\n%s%s", older, pair.cmp < 0, out, said)
				}
			})
		}
	}
}

// The program becomes Codex with this environment.
func TestEnvironVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	var v struct {
		SpawnEnv []struct {
			BaseEnv map[string]string
			Options struct {
				Env      map[string]string
				ClearEnv []string
			}
			Platform string
			Env      map[string]string
		}
	}
	vectors.Read(t, "client.json", &v)
	if len(v.SpawnEnv) == 0 {
		t.Fatal("no cases")
	}
	for i, c := range v.SpawnEnv {
		if c.Platform != runtime.GOOS {
			continue // see DEVIATIONS.md
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			folder := folderOutsideTemp(t)
			user := filepath.Join(folder, "config.toml")
			var remove []string
			for _, name := range c.Options.ClearEnv {
				remove = append(remove, fmt.Sprintf("%q", strings.TrimSpace(name)))
			}
			body := fmt.Sprintf("[codex]\ncommand = %q\nenv_remove = [%s]\n[codex.env]\n", codexOf(t, "0.169.0"), strings.Join(remove, ", "))
			for name, value := range c.Options.Env {
				body += fmt.Sprintf("%s = %q\n", name, value)
			}
			if err := os.WriteFile(user, []byte(body), 0o600); err != nil {
				t.Fatal(err)
			}
			own := map[string]string{"CODEX_BRIDGE_CONFIG": user, "CODEX_BRIDGE_STATE": filepath.Join(folder, "state"), "CODEX_HOME": folder, "HOME": folder}
			var environ []string
			for _, from := range []map[string]string{c.BaseEnv, own} {
				for name, value := range from {
					environ = append(environ, name+"="+value)
				}
			}
			r := runProgram(t, environ, "", "exec")
			got := map[string]string{}
			for line := range strings.Lines(string(r.Stdout)) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				switch name {
				case "PWD", "_", "SHLVL", "OLDPWD": // set by the shell
				default:
					if own[name] == "" && !strings.HasPrefix(name, "CODEX_BRIDGE_") {
						got[name] = value
					}
				}
			}
			if diff := cmp.Diff(c.Env, got); diff != "" {
				t.Errorf("(-want +got)\n%s\n%s", diff, r.Stderr)
			}
		})
	}
}
