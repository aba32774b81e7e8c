// Package policytest has the machine, the policy and the state with which tests of the policy decide.
package policytest

import (
	"encoding/json"
	"errors"
	"path"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// Links is a file system of symbolic links. Any other path is a folder that may exist.
type Links map[string]string

// Canonical implements policy.Paths.
func (l Links) Canonical(p string) (string, error) {
	found, err := l.Readings(p)
	if err != nil {
		return "", err
	}
	return found[len(found)-1], nil
}

// Readings has each path in which the next name is a link, and the canonical path.
func (l Links) Readings(p string) (found []string, err error) {
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
func (l Links) Follow(p string) (string, error) { return l.Canonical(p) }

// Repositories are the roots of folders.
type Repositories map[string][]string

// Roots implements policy.Repositories.
func (r Repositories) Roots(folder string) ([]string, error) {
	if folder == "/code/torn" || folder == "" {
		return nil, errors.New("it can't be read")
	}
	return r[folder], nil
}

// Disk is the file system of the tests.
var Disk = Links{
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

// Contract is the default policy under enforce.
func Contract() config.Policy {
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

// Compile returns the policy of a configuration.
func Compile(t TB, cfg config.Policy) *policy.Policy {
	t.Helper()
	p, err := policy.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Message parses a line of the client.
func Message(t testing.TB, line string) *rpc.Message {
	t.Helper()
	m, err := rpc.ParseMessage([]byte(line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return m
}

// State is the usual state: Codex's configuration is empty, and the thread is verified.
func State() policy.State {
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
		Paths:          Disk,
		Repositories: Repositories{
			"/code/proj/sub":       {"/code/proj"},
			"/code/proj/.vscode/x": {"/code/proj"},
			"/code/wt":             {"/code/wt", "/code/proj"},
			"/code/wt/sub":         {"/code/wt", "/code/proj"},
		},
	}
}

// TB is the common interface of testing.T and rapid.T.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Fatal(args ...any)
}

// ProgramPolicy has a rule of each kind for programs.
func ProgramPolicy() config.Policy {
	cfg := Contract()
	cfg.Gate, cfg.Escalation, cfg.Approval = true, "ask", []string{"untrusted", "on-request", "never"}
	cfg.Rules = []config.Rule{
		{Command: "git status", Decision: "allow", Ticket: "OPS-7"},
		{Command: "git push **", Decision: "deny", Reason: "The pipeline pushes."},
		{Command: "git **", Decision: "ask", Reason: "Look at git."},
		{Command: "deploy **", Decision: "ask", Approvers: "release"},
		{Command: "old **", Decision: "ask", Until: "2026-01-01"},
		{Command: "old **", Decision: "deny"},
		{Command: "**", Decision: "deny"},
	}
	return cfg
}

// GitProgram is a start of git.
func GitProgram(words ...string) rules.Program {
	return rules.Program{Path: "/usr/bin/git", Args: append([]string{"git"}, words...), Dir: "/code/proj"}
}

// ProgramState is the state of a program in a thread with an approval policy and a sandbox.
func ProgramState(approval, sandbox string) policy.State {
	st := State()
	st.Thread = &policy.Thread{ID: "T", Workspace: "/code/proj", Sandbox: sandbox, Approval: json.RawMessage(approval)}
	st.Escalation, st.PathFolders = rules.Sandboxed, []string{"/usr/bin"}
	st.Now = func() time.Time { return time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC) }
	return st
}
