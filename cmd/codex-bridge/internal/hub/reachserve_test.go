package hub

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
)

// Clients share a server if they have the same state folder and the same policy files.
func TestServeSocketIsOfStateAndPolicyFiles(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"run", "state", "other", "x/below", "y"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(root, "x", config.WorkspaceFile)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(root, "run"))
	t.Setenv("CODEX_HOME", filepath.Join(root, "state"))
	cfg := config.Default()
	cfg.Codex.Command = filepath.Join(root, "codex")
	if err := os.WriteFile(cfg.Codex.Command, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	socket := func(state, start string) string {
		t.Setenv("CODEX_BRIDGE_STATE", filepath.Join(root, state))
		path, err := ServeSocket(cfg, PolicyFolder(filepath.Join(root, start)))
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Base(path) // its folder may be in the state folder
	}
	first := socket("state", "y")
	for _, test := range []struct {
		state, start string
		same         bool
	}{{"state", ".", true}, {"other", "y", false}, {"state", "x", false}} {
		if path := socket(test.state, test.start); (path == first) != test.same {
			t.Errorf("%+v: %s; the first one is %s", test, path, first)
		}
	}
	if a, b := socket("state", "x"), socket("state", "x/below"); a != b {
		t.Errorf("folders with the same policy file have %s and %s", a, b)
	}
}

// A client ends when a policy file appears that its server does not read, and not for other files.
func TestNewPolicyFileEndsClient(t *testing.T) {
	outer := t.TempDir()
	folder := filepath.Join(outer, "inner")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(folder string) {
		if err := os.WriteFile(filepath.Join(folder, config.WorkspaceFile), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(outer)
	ctx, end := context.WithCancelCause(t.Context())
	stopped, stop := context.WithCancel(ctx)
	stop()
	if watchPolicyFolder(stopped, end, folder, PolicyFolder(folder)); ctx.Err() != nil {
		t.Errorf("the known file has ended the client: %v", context.Cause(ctx))
	}
	write(folder)
	watchPolicyFolder(ctx, end, folder, PolicyFolder(outer))
	if err := context.Cause(ctx); err == nil || !strings.Contains(err.Error(), filepath.Join("inner", config.WorkspaceFile)+" is new") {
		t.Error(err)
	}
}

// The active policy has the policy files of its workspace; without a workspace it has none, wherever the bridge runs.
func TestFolderPolicyOfServerWithoutWorkspace(t *testing.T) {
	folder := t.TempDir()
	t.Setenv(config.EnvConfig, "")
	if err := os.WriteFile(filepath.Join(folder, config.WorkspaceFile), []byte("[policy]\nsandbox = \"read-only\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	for workspace, has := range map[string]bool{"": true, folder: false} {
		find := configured.Setup.FolderPolicies(workspace, func() bool { return false }, configured.Logger(config.Default()))
		if p, err := find(folder); (p != nil) != has {
			t.Errorf("workspace %q: %v, %v", workspace, p, err)
		}
	}
}
