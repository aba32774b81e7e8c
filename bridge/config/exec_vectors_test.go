package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge/bridge/bridgetest/vectors"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/execpolicy"
	"codex-bridge/bridge/preset"
)

var (
	securities = []string{"full", "allowlist", "deny"}
	asks       = []string{"off", "on-miss", "always"}
)

// isKnown reports whether a policy file may have the values of a layer; see DEVIATIONS.md.
func isKnown(l execpolicy.Layer) bool {
	modes := []string{"", "deny", "allowlist", "ask", "auto", "full"}
	return slices.Contains(modes, l.Mode) && slices.Contains(append(securities, ""), l.Security) && slices.Contains(append(asks, ""), l.Ask) &&
		(l.Mode == "" || l.Security+l.Ask == "")
}

// policyOf returns the text of a policy file with the values of a layer.
func policyOf(l execpolicy.Layer) string {
	text := "[policy]\n"
	say := func(key, word string) {
		if word != "" {
			text += fmt.Sprintf("%s = %q\n", key, word)
		}
	}
	if l.Mode == "deny" || l.Mode == "allowlist" { // a security's name
		l.Security, l.Mode = l.Mode, ""
	}
	say("preset", l.Mode)
	say("security", l.Security)
	say("ask", l.Ask)
	if !strings.Contains(text, "=") {
		return ""
	}
	return text
}

// isLooser reports whether a is looser than b in security or in ask.
func isLooser(a, b execpolicy.Policy) bool {
	return slices.Index(securities, a.Security) < slices.Index(securities, b.Security) || slices.Index(asks, a.Ask) < slices.Index(asks, b.Ask)
}

type toolSettings struct{ Exec execpolicy.Layer }

// execInput is the input of a case of exec_policy.json.
type execInput struct {
	AgentID string
	Config  struct {
		Tools  toolSettings
		Agents struct {
			List []struct {
				ID    string
				Tools toolSettings
			}
		}
	}
	ExecOverrides execpolicy.Layer
	Approvals     struct {
		Defaults execpolicy.Layer
		Agents   map[string]execpolicy.Layer
	}
}

// ownLayers returns the layers of the agent and of the session.
func (in execInput) ownLayers() (own []execpolicy.Layer) {
	for _, agent := range in.Config.Agents.List {
		if strings.EqualFold(agent.ID, in.AgentID) {
			own = append(own, agent.Tools.Exec)
		}
	}
	if in.ExecOverrides != (execpolicy.Layer{}) {
		own = append(own, in.ExecOverrides)
	}
	return own
}

// The floors of the vectors are the managed file, the global layer is the user's file, and the layer of
// an agent or a session is the workspace's.
func TestExecPolicyVectors(t *testing.T) {
	var v struct {
		Cases []struct {
			Name   string
			Input  execInput
			Output execpolicy.Policy
		}
	}
	vectors.Read(t, "exec_policy.json", &v)
	if len(v.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range v.Cases {
		in := c.Input
		own := in.ownLayers()
		if len(own) > 1 || len(in.Approvals.Agents) > 0 {
			continue // agents have no settings of their own here: see DEVIATIONS.md
		}
		t.Run(c.Name, func(t *testing.T) {
			workspace := execpolicy.Layer{}
			if len(own) > 0 {
				workspace = own[0]
			}
			layers := []execpolicy.Layer{in.Approvals.Defaults, in.Config.Tools.Exec, workspace}
			folder := t.TempDir()
			files := []string{filepath.Join(folder, "managed.toml"), filepath.Join(folder, "user.toml"), filepath.Join(folder, config.WorkspaceFile)}
			known := true
			for i, l := range layers {
				known = known && isKnown(l)
				if err := os.WriteFile(files[i], []byte(policyOf(l)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cfg, err := config.Load(config.Options{Managed: files[0], User: files[1], Workspace: folder})
			want, refused := preset.Resolve(preset.Input{Exec: c.Output})
			looser := isLooser(c.Output, execpolicy.Resolve(layers[1:2], execpolicy.Layer{})) // only a workspace's file makes it so
			switch {
			case !known || refused != nil:
				if err == nil {
					t.Errorf("it is loaded: %+v", cfg.Policy)
				}
			case looser && err != nil:
			case err != nil:
				t.Error(err)
			case !c.Output.Touched:
				if cfg.Policy.Mode != config.Off {
					t.Errorf("no layer has a value, and there is a policy: %+v", cfg.Policy)
				}
			case looser:
				if cfg.Policy.Approval[0] == want.Approval && cfg.Policy.Sandbox == want.Sandbox {
					t.Errorf("a workspace's file loosens the policy: %+v", cfg.Policy)
				}
			case cfg.Policy.Approval[0] != want.Approval || cfg.Policy.Sandbox != want.Sandbox || cfg.Policy.Reviewers[0] != want.Reviewer:
				t.Errorf("%v, %s, %v; want %+v", cfg.Policy.Approval, cfg.Policy.Sandbox, cfg.Policy.Reviewers, want)
			}
		})
	}
}

// Words of several files meet: a later file only tightens.
func TestExecLayersTighten(t *testing.T) {
	folder := t.TempDir()
	managed, user := filepath.Join(folder, "managed.toml"), filepath.Join(folder, "user.toml")
	for _, c := range []struct{ managed, user, approval, sandbox string }{
		{`security = "full"`, `preset = "ask"`, "on-request", "workspace-write"},
		{`preset = "ask"`, `security = "full"`, "on-request", "workspace-write"},
		{`preset = "ask"`, `ask = "always"`, "on-request", "workspace-write"},
		{`ask = "always"`, `preset = "full"`, "on-request", "danger-full-access"},
	} {
		for file, text := range map[string]string{managed: c.managed, user: c.user} {
			if err := os.WriteFile(file, []byte("[policy]\n"+text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cfg, err := config.Load(config.Options{Managed: managed, User: user})
		if err != nil {
			t.Errorf("%s, then %s: %v", c.managed, c.user, err)
			continue
		}
		if p := cfg.Policy; p.Approval[0] != c.approval || p.Sandbox != c.sandbox || p.Reviewers[0] != "user" {
			t.Errorf("%s, then %s: %v, %s, %v", c.managed, c.user, p.Approval, p.Sandbox, p.Reviewers)
		}
	}
}
