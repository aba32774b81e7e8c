//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
)

// policyOfThread has the members of thread/start that a policy sets.
type policyOfThread struct{ Approval, Sandbox, Reviewer string }

// underPolicy starts a thread under the policy of these files, for a client that requests the
// widest, and returns the request that Codex gets. on is false without a policy. The error is that
// of the configuration.
func underPolicy(t *testing.T, o config.Options) (p policyOfThread, on bool, err error) {
	t.Helper()
	cfg, err := config.Load(o)
	if err != nil {
		return p, false, err
	}
	if cfg.Policy.Mode == config.Off {
		return p, false, nil
	}
	if _, err := configured.Setup.NewGuard(cfg, nil, nil, slog.New(slog.DiscardHandler)); err != nil {
		return p, false, err
	}
	w := &assembled{t: t, replies: make(map[string]json.RawMessage), replied: make(chan struct{}), answer: func(request) (any, string) {
		return map[string]any{"thread": map[string]any{"id": "T"}, "cwd": "/w", "model": "m", "config": map[string]any{}}, ""
	}}
	w.Conversation, w.record = assembleOptions(t, o, slog.New(slog.DiscardHandler))
	go w.play()
	w.initialize(nil)
	asked := map[string]any{"approvalPolicy": "never", "sandbox": "danger-full-access", "approvalsReviewer": "guardian_subagent"}
	if o.Workspace != "" {
		asked["cwd"] = o.Workspace
	}
	_, refused := w.call("thread/start", asked) // the policy accepts no response here
	all := w.takeRequests()
	started := withMethod(all, "thread/start")
	if len(started) != 1 || !isText(started[0].Params["approvalPolicy"]) { // never is reduced or refused, and not replaced
		asked["approvalPolicy"] = map[string]any{"granular": map[string]bool{"sandbox_approval": true, "rules": true, "mcp_elicitations": true}}
		_, refused = w.call("thread/start", asked)
		all = w.takeRequests()
		started = withMethod(all, "thread/start")
	}
	if len(started) != 1 {
		t.Fatalf("Codex got %v: %v", all, refused)
	}
	word := func(name string) string { text, _ := started[0].Params[name].(string); return text }
	p = policyOfThread{word("approvalPolicy"), word("sandbox"), reviewerOf(word("approvalsReviewer"))}
	var profiles struct {
		Config struct {
			Permissions map[string]struct{ Extends string }
		}
	}
	if err := json.Unmarshal([]byte(text(t, started[0].Params)), &profiles); err != nil {
		t.Fatal(err)
	}
	if p.Sandbox == "" && profiles.Config.Permissions["codex-bridge"].Extends == ":workspace" { // workspace-write, without the protected paths
		p.Sandbox = setting.WorkspaceWrite
	}
	return p, true, nil
}

func isText(v any) bool {
	_, ok := v.(string)
	return ok
}

// reviewerOf returns one name for a reviewer with two names.
func reviewerOf(name string) string {
	if name == setting.GuardianSubagent {
		return setting.AutoReview
	}
	return name
}

// policyFile writes a file with a section [policy] and returns its path; "" without lines.
func policyFile(t *testing.T, path string, lines ...string) string {
	t.Helper()
	body := ""
	if len(lines) > 0 {
		body = "[policy]\n" + strings.Join(lines, "\n") + "\n"
	}
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// enforced are additional lines of a policy, so that only the response is verified.
var enforced = []string{`mode = "enforce"`, `project_trust = "codex"`, "gate = false"}

type runtimeCase struct {
	Name  string
	Input struct {
		Env              map[string]string
		RequirementsToml *string
		HostName         string
		PluginConfig     map[string]json.RawMessage
		ExecPolicy       *setting.ExecPolicy
	}
	Result *struct{ ApprovalPolicy, Sandbox, ApprovalsReviewer string }
}

type appServerPolicy struct{ Mode, ApprovalPolicy, Sandbox, ApprovalsReviewer string }

// knownAppServer has the keys of the vectors' configuration. Other keys stop the start, as unknown
// keys do here.
var knownAppServer = []string{
	"mode", "approvalPolicy", "sandbox", "approvalsReviewer", "serviceTier", "command", "args", "clearEnv", "requestTimeoutMs",
	"turnCompletionIdleTimeoutMs", "postToolRawAssistantCompletionIdleTimeoutMs", "codeModeOnly",
}

// lines returns the policy of a case. ok is false if the configuration is refused; see
// DEVIATIONS.md.
func (c runtimeCase) lines(t *testing.T) (lines []string, ok bool) {
	t.Helper()
	var a appServerPolicy
	for name, raw := range c.Input.PluginConfig {
		if name != "appServer" {
			return nil, false
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(raw, &members); err != nil {
			t.Fatal(err)
		}
		for name := range members {
			if !slices.Contains(knownAppServer, name) {
				return nil, false
			}
		}
		if err := json.Unmarshal(raw, &a); err != nil {
			t.Fatal(err)
		}
	}
	if a.ApprovalPolicy != "" && !setting.IsApproval(a.ApprovalPolicy) {
		return nil, false
	}
	switch x := c.Input.ExecPolicy; {
	case x != nil && x.Touched && a.Mode == "":
		lines = append(lines, fmt.Sprintf("security = %q\nask = %q", x.Security, x.Ask))
		if x.Mode == setting.ModeAuto {
			lines[0] = `preset = "auto"`
		}
	case a.Mode != "":
		lines = append(lines, fmt.Sprintf("preset = %q", a.Mode))
	default:
		lines = append(lines, `preset = "full"`) // see DEVIATIONS.md: no default loosens
	}
	if word := setting.Approval(a.ApprovalPolicy); word != "" {
		lines = append(lines, fmt.Sprintf("approval = [%q]", word))
	}
	if a.Sandbox != "" {
		lines = append(lines, fmt.Sprintf("sandbox = %q", a.Sandbox))
	}
	if a.ApprovalsReviewer != "" {
		lines = append(lines, fmt.Sprintf("reviewers = [%q]", a.ApprovalsReviewer))
	}
	return lines, true
}

// contradicts reports whether the configuration is contradictory: the exec policy forbids an
// explicit approval policy, or the machine allows only one that Codex refuses. See DEVIATIONS.md.
func (c runtimeCase) contradicts() bool {
	var a appServerPolicy
	_ = json.Unmarshal(c.Input.PluginConfig["appServer"], &a) // checked before
	return a.ApprovalPolicy != "" && setting.Approval(a.ApprovalPolicy) != setting.Approval(c.Result.ApprovalPolicy) ||
		c.Input.RequirementsToml != nil && c.Result.ApprovalPolicy == "on-failure"
}

func TestAppServerRuntimeOptionsVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	environment := func(c runtimeCase) bool { return len(c.Input.Env) > 0 }
	eachCase(t, "app_server_runtime_options.json", "cases", func(t *testing.T, c runtimeCase) {
		lines, ok := c.lines(t)
		if !ok {
			for _, bad := range []string{"x = 1\n", "[policy]\napproval = [\"bogus\"]\n"} {
				if _, err := loadText(t, bad); err == nil {
					t.Errorf("%q loads", bad)
				}
			}
			return
		}
		folder := folderOutsideTemp(t)
		o := config.Options{User: policyFile(t, filepath.Join(folder, "config.toml"), append(lines, enforced...)...)}
		if r := c.Input.RequirementsToml; r != nil {
			o.Requirements = filepath.Join(folder, "requirements.toml")
			if err := os.WriteFile(o.Requirements, []byte(strings.ReplaceAll(*r, c.Input.HostName, host)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, on, err := underPolicy(t, o)
		if c.Result == nil {
			if err == nil {
				t.Errorf("it is loaded, and Codex gets %+v", got)
			}
			return
		}
		want := policyOfThread{setting.Approval(c.Result.ApprovalPolicy), c.Result.Sandbox, reviewerOf(c.Result.ApprovalsReviewer)}
		if c.contradicts() {
			if err == nil {
				t.Errorf("it is loaded, and Codex gets %+v", got)
			}
			return
		}
		if err != nil || !on {
			t.Fatalf("%v; want %+v", err, want)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", lines, diff)
		}
	}, leftOut[runtimeCase]{"app_server_runtime_options.json | env is set", environment})
}

var (
	securityWords = []string{"full", "allowlist", "deny"}
	askWords      = []string{"off", "on-miss", "always"}
)

// isKnown reports whether a policy file may have the values of a layer; see DEVIATIONS.md.
func isKnown(l setting.ExecLayer) bool {
	modes := []string{"", "deny", "allowlist", "ask", "auto", "full"}
	return slices.Contains(modes, l.Mode) && slices.Contains(append(securityWords, ""), l.Security) && slices.Contains(append(askWords, ""), l.Ask) &&
		(l.Mode == "" || l.Security+l.Ask == "")
}

// linesOf returns a policy with the values of a layer.
func linesOf(l setting.ExecLayer) (lines []string) {
	say := func(key, word string) {
		if word != "" {
			lines = append(lines, fmt.Sprintf("%s = %q", key, word))
		}
	}
	if l.Mode == "deny" || l.Mode == "allowlist" { // the names of a security value
		l.Security, l.Mode = l.Mode, ""
	}
	say("preset", l.Mode)
	say("security", l.Security)
	say("ask", l.Ask)
	return lines
}

// isLooser reports whether a is looser than b in security or in ask.
func isLooser(a, b setting.ExecPolicy) bool {
	return slices.Index(securityWords, a.Security) < slices.Index(securityWords, b.Security) || slices.Index(askWords, a.Ask) < slices.Index(askWords, b.Ask)
}

type toolSettings struct{ Exec setting.ExecLayer }

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
	ExecOverrides setting.ExecLayer
	Approvals     struct {
		Defaults setting.ExecLayer
		Agents   map[string]setting.ExecLayer
	}
}

// ownLayers returns the layers of the agent and of the session.
func (in execInput) ownLayers() (own []setting.ExecLayer) {
	for _, agent := range in.Config.Agents.List {
		if strings.EqualFold(agent.ID, in.AgentID) {
			own = append(own, agent.Tools.Exec)
		}
	}
	if in.ExecOverrides != (setting.ExecLayer{}) {
		own = append(own, in.ExecOverrides)
	}
	return own
}

// execCase is a case of exec_policy.json.
type execCase struct {
	Input  execInput
	Output setting.ExecPolicy
}

// hasAgents reports whether the case has settings for agents, or for an agent and a session.
func (c execCase) hasAgents() bool {
	return len(c.Input.ownLayers()) > 1 || len(c.Input.Approvals.Agents) > 0
}

// hasManaged reports whether the first layer would be the managed file, at a fixed path.
func (c execCase) hasManaged() bool {
	_, _, said := c.layers()
	return len(said) > 2
}

// layers returns the layers, whether a policy file may have their values, and the lines of those
// with a value.
func (c execCase) layers() (layers []setting.ExecLayer, known bool, said [][]string) {
	workspace := setting.ExecLayer{}
	if own := c.Input.ownLayers(); len(own) > 0 {
		workspace = own[0]
	}
	layers, known = []setting.ExecLayer{c.Input.Approvals.Defaults, c.Input.Config.Tools.Exec, workspace}, true
	for _, l := range layers {
		known = known && isKnown(l)
		if lines := linesOf(l); len(lines) > 0 {
			said = append(said, lines)
		}
	}
	return layers, known, said
}

// execOutcome is the policy of a thread under the exec policy of a case. ok is false if commands
// may not run.
func execOutcome(exec setting.ExecPolicy) (p policyOfThread, ok bool) {
	switch {
	case exec.Security == "full" && exec.Ask == "always":
		return policyOfThread{"on-request", "danger-full-access", "user"}, true
	case exec.Mode == "ask":
		return policyOfThread{"on-request", "workspace-write", "user"}, true
	case exec.Mode == "auto":
		return policyOfThread{"on-request", "workspace-write", "auto_review"}, true
	case exec.Mode == "full":
		return policyOfThread{"never", "danger-full-access", "user"}, true
	}
	return policyOfThread{}, !exec.Touched
}

// The first layer with a value is the user's file, the second the workspace's. A later file only
// tightens. bridge/config/preset.go combines the layers when the files are loaded; the guard
// enforces the result for the thread.
func TestExecPolicyVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	eachCase(t, "exec_policy.json", "cases", func(t *testing.T, c execCase) {
		layers, known, said := c.layers()
		folder := folderOutsideTemp(t)
		o := config.Options{User: filepath.Join(folder, "user.toml"), Workspace: filepath.Join(folder, "workspace")}
		if err := os.Mkdir(o.Workspace, 0o700); err != nil {
			t.Fatal(err)
		}
		first := []string{}
		if len(said) > 0 {
			first = append(said[0], enforced...)
		}
		policyFile(t, o.User, first...)
		if len(said) > 1 {
			policyFile(t, filepath.Join(o.Workspace, config.WorkspaceFile), said[1]...)
		}
		got, on, err := underPolicy(t, o)
		want, allowed := execOutcome(c.Output)
		looser := isLooser(c.Output, setting.ResolveExec(layers[1:2], setting.ExecLayer{})) // only the workspace's file loosens
		switch {
		case !known || !allowed:
			if err == nil {
				t.Errorf("it is loaded: %+v", got)
			}
		case looser && err != nil:
			if !strings.Contains(err.Error(), " is looser than ") {
				t.Errorf("the error has another reason: %v", err)
			}
		case err != nil:
			t.Error(err)
		case !c.Output.Touched:
			if on {
				t.Errorf("no layer has a value, and there is a policy: %+v", got)
			}
		case looser:
			if got.Approval == want.Approval && got.Sandbox == want.Sandbox {
				t.Errorf("a workspace's file loosens the policy: %+v", got)
			}
		case got != want:
			t.Errorf("%+v, want %+v", got, want)
		}
	},
		leftOut[execCase]{"exec_policy.json | approvals.agents; more than one layer for agents and sessions", execCase.hasAgents},
		leftOut[execCase]{"exec_policy.json | three layers that say something", execCase.hasManaged})
}
