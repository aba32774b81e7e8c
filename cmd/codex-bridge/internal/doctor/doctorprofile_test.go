package doctor

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/config"
)

// TestDoctorNamesDenials checks the row about the user's permissions profile.
func TestDoctorNamesDenials(t *testing.T) {
	for config, want := range map[string]struct {
		state  string
		detail string
	}{
		`{"default_permissions":"g","permissions":{"g":{"extends":":workspace","filesystem":{":workspace_roots":{"**/.env":"deny","docs":"read"},"~/keys":"deny"}}}}`: {Fine, "g of codex's configuration: threads keep deny **/.env, deny ~/keys, read docs"},
		`{"default_permissions":"g","permissions":{"g":{"filesystem":{":root":"read","/srv/x":"deny"}}}}`:                                                             {Warn, "a thread that names no sandbox is read-only"},
		`{"default_permissions":"g","permissions":{}}`: {Broken, "threads are refused"},
		`{"default_permissions":":workspace"}`:         {},
		`{}`:                                           {},
		`[]`:                                           {},
	} {
		all := examineProfile(json.RawMessage(`{"config":`+config+`}`), nil)
		if want.detail == "" {
			if len(all) != 0 {
				t.Errorf("%s: %v", config, all)
			}
			continue
		}
		if len(all) != 1 || all[0].State != want.state || !strings.Contains(all[0].Detail, want.detail) {
			t.Errorf("%s: %v", config, all)
		}
	}
	if all := examineProfile(nil, errors.New("x")); len(all) != 0 {
		t.Error(all)
	}
	if all := examineProfile(json.RawMessage("x"), nil); len(all) != 0 {
		t.Error(all)
	}
}

// TestDoctorNamesUnenforceableFolder checks the row about a folder whose name keeps Codex from enforcing a profile.
func TestDoctorNamesUnenforceableFolder(t *testing.T) {
	cfg := config.Default()
	cfg.Policy.Mode, cfg.Policy.Sandbox, cfg.Policy.ProtectedPaths = config.Enforce, "workspace-write", []string{".vscode"}
	for name, refused := range map[string]bool{"plain": false, "[slug]": true} {
		folder := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Chdir(folder)
		if all := examineFolder(cfg); (len(all) == 1) != refused || refused && (all[0].State != Broken || !strings.Contains(all[0].Detail, `takes "[" for a pattern`)) {
			t.Errorf("%s: %v", name, all)
		}
	}
}

// TestDoctorNamesHiddenFileThatCodexCantHide checks the row about a hidden file whose path Codex takes for a pattern.
func TestDoctorNamesHiddenFileThatCodexCantHide(t *testing.T) {
	at := bridgetest.NewHome(t, "[x]/config.toml", "w/y")
	t.Setenv(config.EnvConfig, at("[x]/config.toml"))
	if err := os.WriteFile(at("[x]/config.toml"), []byte("[policy]\n[fleet]\nurl = \"postgres://a:b@h/d\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Discover(""))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(at("w"))
	if all := examineFolder(cfg); len(all) != 1 || all[0].State != Broken || !strings.Contains(all[0].Detail, "[x]/config.toml") {
		t.Error(all)
	}
}

// TestDoctorNamesLinkedProtectedPath checks the row about a protected path that is a link.
func TestDoctorNamesLinkedProtectedPath(t *testing.T) {
	cfg := config.Default()
	cfg.Policy.Mode, cfg.Policy.Sandbox, cfg.Policy.ProtectedPaths = config.Enforce, "workspace-write", []string{".github/workflows"}
	folder := t.TempDir()
	t.Chdir(folder)
	if all := examineFolder(cfg); len(all) != 0 {
		t.Errorf("without a link: %v", all)
	}
	if err := os.Symlink("gh", filepath.Join(folder, ".github")); err != nil {
		t.Fatal(err)
	}
	if all := examineFolder(cfg); len(all) != 1 || all[0].State != Broken || !strings.Contains(all[0].Detail, "that may write are refused: ") || !strings.Contains(all[0].Detail, `/.github" is a link to "`) {
		t.Errorf("with a link: %v", all)
	}
	cfg.Policy.Sandbox = "read-only"
	if all := examineFolder(cfg); len(all) != 0 {
		t.Errorf("under a read-only policy: %v", all)
	}
}
