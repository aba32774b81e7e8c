//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// With the policy of the README, a message of its editor becomes what it says that Codex gets.
func TestReadmeExample(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```(toml|json)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 3 {
		t.Fatalf("%d blocks, not a policy and two messages", len(blocks))
	}
	file := filepath.Join(onlyState(t), "config.toml")
	if err := os.WriteFile(file, []byte(blocks[0][2]), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "policy", "explain", "--json")
	cmd.Args[0], cmd.Env, cmd.Stdin, cmd.Stderr = "codex-bridge", append(os.Environ(), "CODEX_BRIDGE_CONFIG="+file), strings.NewReader(blocks[1][2]), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var explained struct{ Message any }
	var want any
	if err := json.Unmarshal(out, &explained); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(blocks[2][2]), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, explained.Message); diff != "" {
		t.Errorf("README and bridge differ:\n%s", diff)
	}
}
