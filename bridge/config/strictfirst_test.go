package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
)

// A policy file of a workspace can't take the stricter values away from a client.
func TestStricterValuesStay(t *testing.T) {
	folder := t.TempDir()
	user, file := filepath.Join(folder, "user.toml"), filepath.Join(folder, config.WorkspaceFile)
	for _, c := range []struct {
		earlier, later string
		want           []string
	}{
		{`["untrusted", "on-request", "never"]`, `["on-request"]`, []string{"untrusted", "on-request"}},
		{`["untrusted", "on-request", "never"]`, `["never"]`, []string{"untrusted", "on-request", "never"}},
		{`["untrusted", "on-request", "never"]`, `["untrusted"]`, []string{"untrusted"}},
		{`["on-request", "untrusted"]`, `["untrusted", "on-request"]`, []string{"untrusted", "on-request"}},
		{`["untrusted", "on-request"]`, `["on-request", "untrusted"]`, []string{"untrusted", "on-request"}},
		{`["on-request", "never"]`, `["on-request"]`, []string{"on-request"}},
		{`["on-request", "never"]`, `["never"]`, []string{"on-request", "never"}},
		{`["on-request", "granular"]`, `["on-request"]`, []string{"on-request"}},
		{`["untrusted", "on-request"]`, `["never"]`, []string{"untrusted", "on-request"}},
		{`["untrusted"]`, `["untrusted", "on-request"]`, []string{"untrusted"}},
	} {
		for path, list := range map[string]string{user: c.earlier, file: c.later} {
			if err := os.WriteFile(path, []byte("[policy]\napproval = "+list+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cfg, err := config.Load(config.Options{User: user, Workspace: folder})
		if err != nil || !slices.Equal(cfg.Policy.Approval, c.want) {
			t.Errorf("%s, then %s: %v; want %v", c.earlier, c.later, err, c.want)
		}
	}
}

// The number of protected paths that workspace files add is bounded: a repository's file must not make each
// command line slow. The managed and the user's file are bounded alone, so that a longer list of one ends
// nothing.
func TestProtectedPathsAreBounded(t *testing.T) {
	folder := t.TempDir()
	inner := filepath.Join(folder, "inner")
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	list := func(from, to int) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "\"p%d\", ", i)
		}
		return "[policy]\nprotected_paths = [" + b.String() + "]\n"
	}
	opts := config.Options{Managed: filepath.Join(folder, "managed.toml"), User: filepath.Join(folder, "user.toml"), Workspace: inner}
	last := filepath.Join(inner, config.WorkspaceFile)
	for n, valid := range map[int]bool{3000: true, 3001: false} {
		for path, text := range map[string]string{
			opts.Managed: list(0, 1000), opts.User: list(1000, 2000), filepath.Join(folder, config.WorkspaceFile): list(1900, 2600), last: list(2500, n),
		} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := config.Load(opts)
		if (err == nil) != valid || err != nil && !strings.Contains(err.Error(), last+":2:1: policy.protected_paths: workspace files add 1001 entries, more than 1000") {
			t.Errorf("%d entries: %v", n, err)
		}
		cfg, err := config.LoadLenient(opts)
		if err != nil || (cfg.WorkspaceError() == nil) != valid || !valid && len(cfg.Policy.ProtectedPaths) != 2600 {
			t.Errorf("%d entries: %v", n, err)
		}
	}
}

// Each workspace file is a layer of rules of its own: an "ask" of an outer one does not hide a "deny" of an
// inner one.
func TestRulesOfTwoWorkspaceFiles(t *testing.T) {
	outer := t.TempDir()
	inner := filepath.Join(outer, "inner")
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	for folder, decision := range map[string]string{outer: "ask", inner: "deny"} {
		rule := "[[policy.rule]]\ncommand = \"git push **\"\ndecision = \"" + decision + "\"\n"
		if err := os.WriteFile(filepath.Join(folder, config.WorkspaceFile), []byte(rule), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load(config.Options{Workspace: inner})
	if err != nil {
		t.Fatal(err)
	}
	if groups := cfg.Policy.RuleLayers(); len(groups) != 2 || groups[0][0].Decision != "ask" || groups[1][0].Decision != "deny" {
		t.Errorf("%+v", groups)
	}
}
