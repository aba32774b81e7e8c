package policy_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge.example/bridge/policy"
)

// accessOrder has the kinds of access, the narrowest first.
var accessOrder = []string{"deny", "read", "write"}

// permissionTable is a table `permissions` of Codex's.
type permissionTable map[string]permissionEntry

type permissionEntry struct {
	Extends    string         `json:"extends,omitempty"`
	Filesystem map[string]any `json:"filesystem,omitempty"`
	Network    map[string]any `json:"network,omitempty"`
}

// lawFolders are the paths at which the laws compare what commands may do.
var lawFolders = []string{"/", "/code/proj", "/code/proj/docs", "/code/proj/docs/x", "/code/proj/docs/.git", "/code/proj/.vscode", "/code/proj/.vscode/x", "/code/proj/keys", "/srv/out", "/srv/out/x", "/home/ada/keys", "/home/ada", "/tmp", "/tmp/x", "/var/tmp/t"}

// accessAt models Codex's access to a path under a profile, as measured with 0.169: a profile has the
// entries of the one that it extends, its own first; the deepest entry counts, and of entries for one
// path the narrowest if one is "deny", else the widest.
func (p permissionTable) accessAt(name, path string) string {
	return p.accessWith(name, path, []string{"/code/proj"})
}

// accessWith is accessAt in a thread with the workspace roots. At the top of each path with "write", .git is read-only.
func (p permissionTable) accessWith(name, path string, roots []string) string {
	depth, access := -1, "deny"
	entries := p.entriesWith(name, roots)
	if root, inGit := strings.CutSuffix(path, "/.git"); inGit && entries[root] == "write" && entries[path] == "" {
		entries[path] = "read"
	}
	for at, kind := range entries {
		if !policy.Within(at, path) {
			continue
		}
		switch n := len(strings.Trim(at, "/")); {
		case n > depth:
			depth, access = n, kind
		case n == depth && (access == "deny" || kind == "deny"):
			access = "deny"
		case n == depth && kind == "write":
			access = kind
		}
	}
	return access
}

// entriesOf returns the access of a profile by path, in the workspace /code/proj.
func (p permissionTable) entriesOf(name string) map[string]string {
	return p.entriesWith(name, []string{"/code/proj"})
}

// entriesWith is entriesOf in a thread with the workspace roots.
func (p permissionTable) entriesWith(name string, roots []string) map[string]string {
	keys := p.keysOf(name)
	paths := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		under := roots
		if !strings.HasPrefix(key, ":workspace_roots") {
			under = []string{""}
		}
		for _, root := range under {
			at := strings.NewReplacer(":workspace_roots", root, ":root", "", ":slash_tmp", "/tmp", ":tmpdir", "/var/tmp/t", "~", "/home/ada").Replace(key)
			at = "/" + strings.Trim(strings.TrimSuffix(at, "/."), "/")
			if had := paths[at]; had != "deny" && (had == "" || keys[key] != "read") {
				paths[at] = keys[key]
			}
		}
	}
	return paths
}

// keysOf returns the access of a profile by key and path below it.
func (p permissionTable) keysOf(name string) map[string]string {
	switch name {
	case ":read-only":
		return map[string]string{":root/.": "read"}
	case ":workspace":
		return map[string]string{":root/.": "read", ":workspace_roots/.": "write", ":slash_tmp/.": "write", ":tmpdir/.": "write"}
	case "":
		return map[string]string{}
	}
	keys := p.keysOf(p[name].Extends)
	for key, entry := range p[name].Filesystem {
		switch entry := entry.(type) {
		case string:
			keys[key+"/."] = entry
		case map[string]any:
			for sub, access := range entry {
				keys[key+"/"+sub], _ = access.(string)
			}
		}
	}
	return keys
}

// drawTable draws the profiles of a user: "mine", which may extend "base".
func drawTable(t *rapid.T) permissionTable {
	draw := func(label string) map[string]any {
		entries := map[string]any{}
		for _, key := range []string{"/srv/out", "/srv/out/x", "/home/ada/keys", "~", ":tmpdir", ":slash_tmp", ":root", "/code/proj/docs"} {
			if rapid.IntRange(0, 3).Draw(t, label+key) == 0 {
				entries[key] = rapid.SampledFrom(accessOrder).Draw(t, label+key+" access")
			}
		}
		below := map[string]any{}
		for _, sub := range []string{".", "docs", "docs/x", "keys", ".vscode"} {
			if rapid.IntRange(0, 3).Draw(t, label+sub) == 0 {
				below[sub] = rapid.SampledFrom(accessOrder).Draw(t, label+sub+" access")
			}
		}
		if len(below) > 0 {
			entries[":workspace_roots"] = below
		}
		return entries
	}
	parent := rapid.SampledFrom([]string{":workspace", ":workspace", ":read-only", ""}).Draw(t, "parent")
	table := permissionTable{"mine": {Extends: parent, Filesystem: draw("mine ")}}
	if rapid.Bool().Draw(t, "two profiles") {
		table["base"] = permissionEntry{Extends: parent, Filesystem: draw("base ")}
		one := table["mine"]
		one.Extends = "base"
		table["mine"] = one
	}
	return table
}

// TestPermissionsAreNeverMore checks for each profile of a user, request and policy: commands of the
// thread may do at each path at most what Codex alone would let them with the same request and
// configuration, at most what the policy allows, and never read what the user's profile denies.
func TestPermissionsAreNeverMore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		user := drawTable(rt)
		text, err := json.Marshal(user)
		if err != nil {
			rt.Fatal(err)
		}
		asked := rapid.SampledFrom([]string{"", `,"sandbox":"read-only"`, `,"sandbox":"workspace-write"`, `,"permissions":":workspace"`, `,"permissions":"mine"`}).Draw(rt, "request")
		cfg := contract()
		cfg.Sandbox = rapid.SampledFrom([]string{"read-only", "workspace-write"}).Draw(rt, "policy.sandbox")
		if rapid.Bool().Draw(rt, "protected") {
			cfg.ProtectedPaths = []string{".vscode"}
		}
		sent, d := sendThread(t, compile(t, cfg), codexDefaults(t, string(text)), asked)
		if d.Err != nil {
			return
		}
		alone := map[string]string{"": "mine", `,"permissions":"mine"`: "mine", `,"sandbox":"read-only"`: ":read-only"}[asked]
		if alone == "" {
			alone = ":workspace"
		}
		table := permissionTable{}
		for name, one := range sent.Params.Config.Permissions {
			table[name] = permissionEntry{Extends: one.Extends, Filesystem: one.Filesystem}
		}
		for _, path := range lawFolders {
			got, without, own := table.accessAt(sent.Params.Permissions, path), user.accessAt(alone, path), user.accessAt("mine", path)
			rank := func(access string) int { return slices.Index(accessOrder, access) }
			inside := policy.Within("/code/proj", path) || policy.Within("/tmp", path) || policy.Within("/var/tmp/t", path)
			switch {
			case rank(got) > rank(without):
				rt.Fatalf("%s: %s, Codex alone %s; Codex gets %s", path, got, without, d.Message)
			case got == "write" && (cfg.Sandbox == "read-only" || !inside || len(cfg.ProtectedPaths) > 0 && strings.Contains(path, ".vscode")):
				rt.Fatalf("%s: the policy lets nobody write there; Codex gets %s", path, d.Message)
			case own == "deny" && got != "deny" && alone == "mine":
				rt.Fatalf("%s: the profile denies it; Codex gets %s", path, d.Message)
			}
		}
		for key, access := range user.keysOf("mine") {
			if access == "deny" && table.keysOf(sent.Params.Permissions)[key] != "deny" {
				rt.Fatalf("%s is denied no more; Codex gets %s", key, d.Message)
			}
		}
		if sent.Params.Permissions == "" {
			rt.Fatal(fmt.Sprintf("no profile; Codex gets %s", d.Message))
		}
	})
}
