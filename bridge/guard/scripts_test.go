package guard

import (
	"os"
	"path/filepath"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
)

// A script of the configuration that commands of the thread can write does not run. One that the
// profile protects does, and so does one where nothing is written or no sandbox would be left.
func TestScriptsThatCommandsCanWrite(t *testing.T) {
	for name, test := range map[string]struct {
		mode    config.Mode
		sandbox string
		entries map[string]any // $ROOT is the workspace
		command []string
		refused bool
	}{
		"writable":            {config.Enforce, "workspace-write", nil, []string{"sh", "-e", "tools/a.sh"}, true},
		"a link":              {config.Enforce, "workspace-write", map[string]any{"$ROOT/tools/a.sh": "read"}, []string{"sh", "link.sh"}, true},
		"protected":           {config.Enforce, "workspace-write", map[string]any{"$ROOT/tools/a.sh": "read"}, []string{"sh", "./tools/a.sh"}, false},
		"in a protected path": {config.Enforce, "workspace-write", map[string]any{":workspace_roots": map[string]string{"tools": "read"}}, []string{"sh", "tools/a.sh"}, false},
		"another is writable": {config.Enforce, "workspace-write", map[string]any{"$ROOT/tools/a.sh": "write"}, []string{"sh", "tools/a.sh"}, true},
		"absolute":            {config.Enforce, "workspace-write", nil, []string{"sh", "$ROOT/tools/a.sh"}, true},
		"the program":         {config.Enforce, "workspace-write", nil, []string{"$ROOT/tools/a.sh", "-x"}, true},
		"missing":             {config.Enforce, "workspace-write", nil, []string{"sh", "missing.sh"}, false},
		"a folder":            {config.Enforce, "workspace-write", nil, []string{"ls", "tools"}, false},
		"no words":            {config.Enforce, "workspace-write", nil, []string{"true"}, false},
		"read-only":           {config.Enforce, "read-only", nil, []string{"sh", "tools/a.sh"}, false},
		"full access":         {config.Enforce, "danger-full-access", nil, []string{"sh", "tools/a.sh"}, false},
		"audit":               {config.Audit, "workspace-write", nil, []string{"sh", "tools/a.sh"}, false},
	} {
		w := newAgentWorld(t, func(p *config.Policy) { p.Mode = test.mode })
		if err := os.Mkdir(filepath.Join(w.root, "tools"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(w.root, "tools/a.sh"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("tools/a.sh", filepath.Join(w.root, "link.sh")); err != nil {
			t.Fatal(err)
		}
		profile := policy.Profile{Defined: true, Entries: map[string]any{}, Folders: []string{w.root}}
		for at, access := range test.entries {
			profile.Entries[os.Expand(at, func(string) string { return w.root })] = access
		}
		w.g.threads.setVerified(map[string]*thread{"t": {Thread: policy.Thread{ID: "t", Workspace: w.root, Sandbox: test.sandbox, Profile: profile}}})
		for i, word := range test.command {
			test.command[i] = os.Expand(word, func(string) string { return w.root })
		}
		if err := w.g.CheckScripts("t", w.root, test.command); (err != nil) != test.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A policy of the thread's folder that is enforced counts, although the active one is not.
func TestScriptsUnderPolicyOfFolder(t *testing.T) {
	w := newAgentWorld(t, func(p *config.Policy) { p.Mode = config.Audit })
	if err := os.WriteFile(filepath.Join(w.root, "a.sh"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	section := config.Default().Policy
	section.Mode = config.Enforce
	p, err := policy.New(section, nil)
	if err != nil {
		t.Fatal(err)
	}
	one := policy.Thread{ID: "t", Workspace: w.root, Sandbox: "workspace-write", Profile: policy.Profile{Defined: true}}
	w.g.threads.setVerified(map[string]*thread{"t": {Thread: one}})
	command := []string{"sh", "a.sh"}
	if err := w.g.CheckScripts("t", w.root, command); err != nil {
		t.Errorf("without such a policy: %v", err)
	}
	w.g.threads.records["t"].extraPolicies = []*policy.Policy{p}
	if err := w.g.CheckScripts("t", w.root, command); err == nil {
		t.Error("the script runs")
	}
}
