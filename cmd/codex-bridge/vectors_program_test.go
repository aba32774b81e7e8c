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
	// The bridge's own minimum is higher: enforcement needs a verified release.
	eachCase(t, "client.json", "minVersion", func(t *testing.T, floor string) {
		if codex.CheckVersion(config.Default().Codex.MinVersion, floor) != nil {
			t.Errorf("the default of codex.min_version is %s, older than the floor %s", config.Default().Codex.MinVersion, floor)
		}
	})
	eachCase(t, "client.json", "versionCompare", func(t *testing.T, c versionPair) {
		doctorCompares(t, c.A, c.B, c.Cmp)
		doctorCompares(t, c.B, c.A, -c.Cmp)
	}, leftOut[versionPair]{"client.json | versionCompare: a version without three numbers", versionPair.isShort})
}

type versionPair struct {
	A, B string
	Cmp  int
}

func (p versionPair) isShort() bool {
	return !threeNumbers.MatchString(p.A) || !threeNumbers.MatchString(p.B)
}

// doctorCompares checks what doctor says of a Codex of the version have, where least is needed.
func doctorCompares(t *testing.T, have, least string, cmp int) {
	t.Helper()
	folder := onlyState(t)
	user := filepath.Join(folder, "config.toml")
	body := fmt.Sprintf("[codex]\ncommand = %q\nmin_version = %q\n", codexOf(t, have), least)
	if err := os.WriteFile(user, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CODEX_BRIDGE_CONFIG", user)
	out, said, _ := commandLine(t, "doctor")
	older := strings.Contains(out+said, "or later is needed")
	if !strings.Contains(out, have) || older != (cmp < 0) {
		t.Errorf("%s with least %s: older %v, want %v:\n%s%s", have, least, older, cmp < 0, out, said)
	}
}

// The program becomes Codex with this environment.
func TestEnvironVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	type spawn struct {
		BaseEnv map[string]string
		Options struct {
			Env      map[string]string
			ClearEnv []string
		}
		Platform string
		Env      map[string]string
	}
	otherSystem := func(c spawn) bool { return c.Platform != runtime.GOOS }
	eachCase(t, "client.json", "spawnEnv", func(t *testing.T, c spawn) {
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
	}, leftOut[spawn]{"client.json | spawnEnv of another system", otherSystem})
}
