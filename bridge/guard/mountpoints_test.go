package guard

import (
	"cmp"
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
		"/code/proj/build": "write", "/code/proj/build/.agents": "read", // a root inside another
	}}
	for name, test := range map[string]struct {
		sandbox string
		defined bool
		roots   []string // of Codex's configuration, in the sandbox
		want    []mountpoint.Folder
	}{
		"writable": {"workspace-write", true, nil, []mountpoint.Folder{
			{Root: "/code/proj", Name: ".github/workflows"}, {Root: "/code/proj", Name: ".vscode"}, {Root: "/code/proj", Name: "tools/bin"}, {Root: "/tmp", Name: "x/bin"}, {Root: "/code/proj", Name: "build/.agents"},
		}},
		"configured root": {"workspace-write", true, []string{"/srv/out"}, []mountpoint.Folder{
			{Root: "/code/proj", Name: ".github/workflows"}, {Root: "/code/proj", Name: ".vscode"},
			{Root: "/srv/out", Name: ".github/workflows"}, {Root: "/srv/out", Name: ".vscode"}, {Root: "/code/proj", Name: "tools/bin"}, {Root: "/tmp", Name: "x/bin"}, {Root: "/code/proj", Name: "build/.agents"},
		}},
		"read-only":  {"read-only", true, []string{"/srv/out"}, nil},
		"no profile": {"workspace-write", false, nil, nil},
	} {
		profile.Defined = test.defined
		thread := &policy.Thread{Workspace: "/code/proj", Cwd: "/code/proj", Sandbox: test.sandbox, Roots: test.roots, Profile: policy.Profile{Roots: []string{"/srv/out"}}}
		if got := mountPointsOf(thread, profile, world); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestMountPointsOfRequest checks which folders stay from a request until Codex ends, if the profile denies
// reading: all in the folders in which a thread opens, and in those that it has or that a turn adds.
func TestMountPointsOfRequest(t *testing.T) {
	world := policy.State{Paths: filesystem{}, PathFolders: []string{"/code/proj/tools/bin"}}
	relative := map[string]string{".github": "write", ".github/workflows": "read", ".vscode": "read", "lib": "write", "lib/conf": "read"}
	profile := policy.Profile{Defined: true, Folders: []string{"/code/proj", "/srv/out"}, Roots: []string{"/srv/root"}, Entries: map[string]any{":workspace_roots": relative, "/code/proj/tools/bin": "read"}}
	in := func(root string) []mountpoint.Folder {
		return []mountpoint.Folder{
			{Root: root, Name: ".github/workflows"}, {Root: root, Name: ".vscode"}, {Root: root, Name: "lib/conf"}, // no lib/.git
			{Root: root, Name: ".github/.agents"}, {Root: root, Name: ".github/.aws"}, {Root: root, Name: ".github/.codex"}, {Root: root, Name: ".github/.git"},
		}
	}
	tools := []mountpoint.Folder{{Root: "/code/proj", Name: "tools/bin"}}
	for _, denied := range []string{"nothing", "a folder", "a glob"} {
		switch delete(profile.Entries, "/srv/state"); denied {
		case "a folder":
			profile.Entries["/srv/state"] = "deny"
		case "a glob":
			relative["**/.env"] = "deny"
		}
		opens := policy.Decision{Sent: &policy.SentSettings{Profile: profile}}
		resumes := policy.Decision{Sent: &policy.SentSettings{Profile: profile, Method: "thread/resume"}}
		stored, open := world, world
		stored.Stored = &policy.StoredProfile{Roots: []string{"/code/proj", "/srv/stored"}}
		open.Thread = &policy.Thread{Workspace: "/code/proj", Cwd: "/code/proj", Sandbox: "read-only", Roots: []string{"/srv/lib"}, Profile: profile}
		for what, test := range map[string]struct {
			d     policy.Decision
			state policy.State
			want  []mountpoint.Folder
		}{
			"opening":                {opens, world, slices.Concat(in("/code/proj"), in("/srv/out"), in("/srv/root"), tools)},
			"fork":                   {opens, stored, slices.Concat(in("/code/proj"), in("/srv/out"), in("/srv/root"), tools)},
			"resume":                 {resumes, stored, slices.Concat(in("/code/proj"), in("/srv/out"), in("/srv/stored"), in("/srv/root"), tools)},
			"turn":                   {policy.Decision{Writable: []string{"/srv/new"}}, open, slices.Concat(in("/code/proj"), in("/srv/lib"), in("/srv/new"), in("/srv/root"), tools)},
			"no thread":              {policy.Decision{}, world, nil},
			"nothing can be written": {policy.Decision{Sent: &policy.SentSettings{Profile: policy.Profile{Defined: true, Entries: profile.Entries}}}, world, nil},
		} {
			if denied == "nothing" {
				test.want = nil
			}
			got := mountPointsOfRequest(test.d, test.state)
			order := func(a, b mountpoint.Folder) int {
				return cmp.Or(cmp.Compare(a.Root, b.Root), cmp.Compare(a.Name, b.Name))
			}
			slices.SortFunc(got, order)
			if slices.SortFunc(test.want, order); !slices.Equal(got, test.want) {
				t.Errorf("%s is denied, %s: %v, want %v", denied, what, got, test.want)
			}
		}
	}
}
