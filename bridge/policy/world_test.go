package policy_test

import (
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// links is a file system of symbolic links. Any other path is a folder that may exist.
type links map[string]string

func (l links) Canonical(p string) (string, error) {
	found, err := l.Readings(p)
	if err != nil {
		return "", err
	}
	return found[len(found)-1], nil
}

// Readings has each path in which the next name is a link, and the canonical path.
func (l links) Readings(p string) (found []string, err error) {
	rest := strings.Split(p, "/")
	at := "/"
	for hops := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, name)
		to, ok := l[next]
		if !ok {
			at = next
			continue
		}
		if hops++; hops > 20 {
			return found, errors.New("too many links")
		}
		found = append(found, path.Join(append([]string{next}, rest...)...))
		if path.IsAbs(to) {
			at = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return append(found, at), nil
}

// Follow is Canonical, which reads a path name by name.
func (l links) Follow(p string) (string, error) { return l.Canonical(p) }

// repositories are the roots of folders.
type repositories map[string][]string

func (r repositories) Roots(folder string) ([]string, error) {
	if folder == "/code/torn" || folder == "" {
		return nil, errors.New("it can't be read")
	}
	return r[folder], nil
}

// disk is the file system of the tests.
var disk = links{
	"/code/proj/out":    "/etc",            // a link that leads out of the workspace
	"/code/proj/in":     "/code/proj/sub",  // and one that stays inside
	"/code/proj/hooks":  ".git/hooks",      // to what git runs
	"/code/link":        "/code/proj",      // a workspace by another name
	"/srv/link":         "/home/ada",       // to the home
	"/code/proj/loop":   "/code/proj/loop", // to itself
	"/code/proj/up":     "..",
	"/code/proj/way":    "sub/.vscode", // to what a policy may protect
	"/home/ada/tmpfile": "/tmp",
	// A folder whose project's configuration lies elsewhere.
	"/code/proj/far/.codex": "/srv/other/.codex",
}

// contract is the default policy under enforce.
func contract() config.Policy {
	return config.Policy{
		Mode:           config.Enforce,
		Approval:       []string{"untrusted", "on-request"},
		Sandbox:        "workspace-write",
		WritableRoots:  []string{"${workspace}"},
		Reviewers:      []string{"user"},
		ConfigKeys:     []string{"model", "model_reasoning_*", "features.code_mode*"},
		ProjectTrust:   "codex", // trust has cases of its own
		UnknownMethods: "deny",
	}
}

func compile(t tester, cfg config.Policy) *policy.Policy {
	t.Helper()
	p, err := policy.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func message(t testing.TB, line string) *rpc.Message {
	t.Helper()
	m, err := rpc.ParseMessage([]byte(line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return m
}

// state is the usual state: Codex's configuration is empty, and the thread is verified.
func state() policy.State {
	return policy.State{
		StartFolder: "/code/proj",
		Home:        "/home/ada",
		CodexHome:   "/home/ada/.codex",
		Sensitive:   []string{"/home/ada/.config/codex-bridge/config.toml", "/home/ada/.local/state/codex-bridge"},
		Temps:       []policy.TempFolder{{Name: "/tmp", Path: "/tmp"}, {Name: "$TMPDIR", Path: "/var/tmp/t"}},
		Thread:      &policy.Thread{ID: "T", Workspace: "/code/proj"},
		Defaults:    &policy.Defaults{},
		NotLoaded:   true,

		Stored:         &policy.StoredProfile{},
		StoredApproval: json.RawMessage("null"),
		Paths:          disk,
		Repositories: repositories{
			"/code/proj/sub":       {"/code/proj"},
			"/code/proj/.vscode/x": {"/code/proj"},
			"/code/wt":             {"/code/wt", "/code/proj"},
			"/code/wt/sub":         {"/code/wt", "/code/proj"},
		},
	}
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}

// tester is the common interface of testing.T and rapid.T.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Fatal(args ...any)
}
