package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge.example/bridge/config"
)

// A file of the user or the machine that is empty at the start has a warning.
func TestEmptyFileIsNamed(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]int{"": 2, " \n": 2, "# nothing\n": 0} {
		opts := config.Options{Managed: filepath.Join(dir, "managed.toml"), User: filepath.Join(dir, "user.toml"), Workspace: dir}
		for _, file := range []string{opts.Managed, opts.User, filepath.Join(dir, config.WorkspaceFile)} {
			put(t, file, text)
		}
		cfg, err := config.Load(opts)
		if err != nil {
			t.Fatal(err)
		}
		if all := cfg.Warnings(); len(all) != want || want > 0 && !strings.Contains(all[1].Error(), "user.toml: is empty") {
			t.Errorf("%q: %v", text, all)
		}
	}
}

// A file that is not valid holds up no change of another one, and its last valid content still counts.
func TestInvalidFileHoldsUpNoOther(t *testing.T) {
	for _, c := range []struct {
		name            string
		user, workspace string
		then            map[string]string // by "user" or "workspace"
		sandbox         string
		skipped, quiet  bool // quiet: no effective value has changed, so that only the error is reported
	}{
		{
			"workspace", "", "[policy]\nmode = \"audit\"\nsandbox = \"read-only\"\n",
			map[string]string{"workspace": "[policy]\nsandbox = 1\n"}, "read-only", false, true,
		},
		{
			"user", "[policy]\nmode = \"audit\"\nsandbox = \"read-only\"\n", "",
			map[string]string{"user": "[polcy]\n"}, "read-only", false, true,
		},
		{"new in the workspace", "", "", map[string]string{"workspace": "[polcy]\n"}, "workspace-write", true, false},
		{
			"refused by the check", "", "[policy]\nmode = \"audit\"\nsandbox = \"read-only\"\n",
			map[string]string{"workspace": "[policy]\nmode = \"audit\"\n[[policy.rule]]\ntool = \"Bash\"\ndecision = \"deny\"\n"}, "read-only", false, true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				opts := config.Options{Managed: filepath.Join(dir, "managed.toml"), User: filepath.Join(dir, "user.toml"), Workspace: filepath.Join(dir, "repository"), Check: checkPolicy}
				if err := os.Mkdir(opts.Workspace, 0o700); err != nil {
					t.Fatal(err)
				}
				files := map[string]string{"user": opts.User, "workspace": filepath.Join(opts.Workspace, config.WorkspaceFile)}
				put(t, opts.Managed, policy("audit"))
				for name, text := range map[string]string{"user": c.user, "workspace": c.workspace} {
					if text != "" {
						put(t, files[name], text)
					}
				}
				loaded, err := config.LoadLenient(opts)
				if err != nil {
					t.Fatal(err)
				}
				opts.Loaded = loaded
				type report struct {
					cfg *config.Config
					err error
				}
				reports := make(chan report, 16)
				for name, text := range c.then { // before Watch begins, so that it is reported at once
					put(t, files[name], text)
				}
				runWatch(t, opts, func(cfg *config.Config, err error) { reports <- report{cfg, err} })
				next := func() report {
					select {
					case r := <-reports:
						return r
					case <-time.After(deadline):
						t.Fatal("no report")
					}
					return report{}
				}
				if r := next(); c.quiet != (r.err != nil) || !c.quiet && r.cfg.WorkspaceError() == nil {
					t.Fatalf("after the change: %+v", r)
				}
				put(t, opts.Managed, policy("enforce"))
				r := next()
				if r.err != nil || r.cfg.Policy.Mode != config.Enforce || r.cfg.Policy.Sandbox != c.sandbox || r.cfg.WorkspaceError() == nil || r.cfg.Skipped() != c.skipped {
					t.Fatalf("after the managed file has changed: %+v", r)
				}
				for name := range c.then {
					put(t, files[name], "# nothing\n")
				}
				if r := next(); r.err != nil || r.cfg.WorkspaceError() != nil || r.cfg.Policy.Sandbox != "workspace-write" {
					t.Fatalf("after the repair: %+v", r)
				}
			})
		})
	}
}
