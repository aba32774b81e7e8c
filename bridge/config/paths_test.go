//go:build !windows

// The paths are those of other systems than Windows.
package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"

	"github.com/google/go-cmp/cmp"
)

func TestExpand(t *testing.T) {
	file := write(t, `
[codex]
command = "~/bin/codex"
[policy]
writable_roots = ["${workspace}", "${workspace}/", "${workspace}//a/./b/../c", "~", "~/x/", "/a/../b/"]
protected_paths = [".git/", "./.github/workflows"]
[[policy.rule]]
path = "~/**"
decision = "deny"
[[policy.rule]]
path = "${workspace}/**/*.{pem,key}"
decision = "deny"
[[policy.rule]]
path = "**/.env"
decision = "deny"
[hooks]
events = ["stop"]
[[hooks.handler]]
event = "stop"
command = ["./x/../y", "./z", "~"]
[[hooks.handler]]
event = "stop"
command = ["bare"]
[[hooks.handler]]
event = "stop"
command = ["a/b"]
`)
	c, err := config.Load(config.Options{User: file, Home: "/home/some[one]"})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(file)
	check := func(what string, want, got any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	check("codex", "/home/some[one]/bin/codex", c.Codex.Command)
	check("roots", []string{"${workspace}", "${workspace}", "${workspace}/a/c", "/home/some[one]", "/home/some[one]/x", "/b"}, c.Policy.WritableRoots)
	check("protected", []string{".git", ".github/workflows"}, c.Policy.ProtectedPaths)
	check("rules", []string{`/home/some\[one]/**`, "${workspace}/**/*.{pem,key}", "**/.env"},
		[]string{c.Policy.Rules[0].Path, c.Policy.Rules[1].Path, c.Policy.Rules[2].Path})
	check("handlers", [][]string{{dir + "/y", "./z", "~"}, {"bare"}, {dir + "/a/b"}},
		[][]string{c.Hooks.Handlers[0].Command, c.Hooks.Handlers[1].Command, c.Hooks.Handlers[2].Command})
}

func TestExpandWithoutHome(t *testing.T) {
	_, err := config.Load(config.Options{User: write(t, "[policy]\nwritable_roots = [\"~/x\"]\n")})
	if err == nil || !strings.Contains(err.Error(), "the home folder is not known; set HOME") {
		t.Errorf("got %v", err)
	}
}

// The folder of a file that is named relatively is made absolute, since the
// child may run elsewhere.
func TestCommandOfRelativeFile(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if err := os.WriteFile("c.toml", []byte("[acp.agents.a]\ncommand = [\"./a\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := load("c.toml")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.ACP.Agents["a"].Command[0]; got != filepath.Join(dir, "a") {
		t.Errorf("got %s", got)
	}
}

func TestKey(t *testing.T) {
	for want, parts := range map[string][]string{
		"policy.sandbox":                       {"policy", "sandbox"},
		`policy.methods."thread/shellCommand"`: {"policy", "methods", "thread/shellCommand"},
		`a."".b`:                               {"a", "", "b"},
		`"a\n"`:                                {"a\n"},
	} {
		if got := config.Key(parts...); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
