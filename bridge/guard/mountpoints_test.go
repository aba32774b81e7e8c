package guard

import (
	"slices"
	"testing"

	"codex-bridge.example/bridge/mountpoint"
	"codex-bridge.example/bridge/policy"
)

// TestMountPointsOf checks which folders are created, if they are missing.
func TestMountPointsOf(t *testing.T) {
	world := policy.State{
		Paths: filesystem{}, Temps: []policy.TempFolder{{Name: "/tmp", Path: "/tmp"}},
		PathFolders: []string{"/code/proj/tools/bin", "/usr/bin", "/tmp/x/bin", "/code/proj/below/read"},
	}
	profile := policy.Profile{Defined: true, Entries: map[string]any{
		"/code/proj/tools": "write", "/code/proj/tools/bin": "read", "/tmp/x/bin": "read", "/code/proj/below": "read", "/code/proj/.gitconfig": "read",
		":workspace_roots": map[string]string{".github": "write", ".github/workflows": "read", ".vscode": "read"},
	}}
	for name, test := range map[string]struct {
		sandbox string
		defined bool
		want    []mountpoint.Folder
	}{
		"writable": {"workspace-write", true, []mountpoint.Folder{
			{Root: "/code/proj", Name: ".github/workflows"}, {Root: "/code/proj", Name: ".vscode"}, {Root: "/code/proj", Name: "tools/bin"}, {Root: "/tmp", Name: "x/bin"},
		}},
		"read-only":  {"read-only", true, nil},
		"no profile": {"workspace-write", false, nil},
	} {
		profile.Defined = test.defined
		thread := &policy.Thread{Workspace: "/code/proj", Cwd: "/code/proj", Sandbox: test.sandbox}
		if got := mountPointsOf(thread, profile, world); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestInnerMountPoints checks which folders are created before Codex handles a request: those below
// others, if the profile denies reading.
func TestInnerMountPoints(t *testing.T) {
	entries := map[string]any{":workspace_roots": map[string]string{".github": "write", ".github/workflows": "read", ".vscode": "read"}}
	profile := policy.Profile{Defined: true, Folders: []string{"/code/proj", "/srv/out"}, Entries: entries}
	if got := innerMountPoints(profile); len(got) > 0 {
		t.Errorf("nothing is denied: %v", got)
	}
	want := []mountpoint.Folder{{Root: "/code/proj", Name: ".github/workflows"}, {Root: "/srv/out", Name: ".github/workflows"}}
	entries["/srv/state"] = "deny"
	if got := innerMountPoints(profile); !slices.Equal(got, want) {
		t.Errorf("a denied folder: %v, want %v", got, want)
	}
	delete(entries, "/srv/state")
	entries[":workspace_roots"].(map[string]string)["**/.env"] = "deny"
	if got := innerMountPoints(profile); !slices.Equal(got, want) {
		t.Errorf("a denied glob: %v, want %v", got, want)
	}
}
