package preset_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"codex-bridge/bridge/execpolicy"
	"codex-bridge/bridge/preset"
	"codex-bridge/bridge/requirements"
)

var (
	ask        = execpolicy.Policy{Mode: "ask", Security: "allowlist", Ask: "on-miss", Touched: true}
	auto       = execpolicy.Policy{Mode: "auto", Security: "allowlist", Ask: "on-miss", Touched: true}
	fullAlways = execpolicy.Policy{Mode: "ask", Security: "full", Ask: "always", Touched: true}
)

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		name string
		in   preset.Input
		want preset.Result
	}{
		{"guardian", preset.Input{Config: preset.Settings{Preset: "guardian"}},
			preset.Result{Approval: "on-request", ApprovalSource: preset.Implicit, Reviewer: "auto_review", Sandbox: "workspace-write"}},
		{"configured", preset.Input{Config: preset.Settings{Approval: "untrusted", ServiceTier: "fast"}},
			preset.Result{Approval: "untrusted", ApprovalSource: preset.Config, Reviewer: "user", Sandbox: "danger-full-access", ServiceTier: "priority"}},
		{"yolo, and forced to ask", preset.Input{Config: preset.Settings{Preset: "yolo"}, Exec: ask},
			preset.Result{Approval: "on-request", ApprovalSource: preset.Requirements, Reviewer: "user", Sandbox: "workspace-write"}},
		{"yolo, forced, and the requirements count", preset.Input{Config: preset.Settings{Preset: "yolo"}, Exec: ask,
			Requirements: &requirements.Requirements{Sandboxes: []string{"read-only"}}},
			preset.Result{Approval: "on-request", ApprovalSource: preset.Requirements, Reviewer: "user", Sandbox: "read-only"}},
		{"auto, with the older reviewer", preset.Input{Exec: auto, Requirements: &requirements.Requirements{Reviewers: []string{"user", "guardian_subagent"}}},
			preset.Result{Approval: "on-request", ApprovalSource: preset.Requirements, Reviewer: "guardian_subagent", Sandbox: "workspace-write"}},
		{"full and always", preset.Input{Exec: fullAlways},
			preset.Result{Approval: "on-request", ApprovalSource: preset.Requirements, Reviewer: "user", Sandbox: "danger-full-access"}},
		{"full and always, read-only", preset.Input{Exec: fullAlways, Config: preset.Settings{Sandbox: "read-only"}},
			preset.Result{Approval: "on-request", ApprovalSource: preset.Requirements, Reviewer: "user", Sandbox: "read-only"}},
		{"full and always, danger not allowed, in the host's sandbox", preset.Input{Exec: fullAlways, HostSandboxed: true,
			Requirements: &requirements.Requirements{Sandboxes: []string{"workspace-write"}}},
			preset.Result{Approval: "on-request", ApprovalSource: preset.Requirements, Reviewer: "user", Sandbox: "workspace-write"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := preset.Resolve(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestResolveErrors(t *testing.T) {
	for _, c := range []struct {
		says string
		in   preset.Input
	}{
		{"preset", preset.Input{Config: preset.Settings{Preset: "Yolo"}}},
		{"approval", preset.Input{Config: preset.Settings{Approval: "always"}}},
		{"sandbox", preset.Input{Config: preset.Settings{Sandbox: "full"}}},
		{"reviews", preset.Input{Config: preset.Settings{Reviewer: "me"}}},
		{"may not be run", preset.Input{Exec: execpolicy.Policy{Mode: "deny", Security: "deny", Ask: "off", Touched: true}}},
		{"ask user", preset.Input{Exec: ask, Requirements: &requirements.Requirements{Approvals: []string{"never"}}}},
		{"ask auto_review", preset.Input{Exec: auto, Requirements: &requirements.Requirements{Reviewers: []string{"user"}}}},
		{"narrow enough", preset.Input{Exec: ask, Requirements: &requirements.Requirements{Sandboxes: []string{"danger-full-access"}}}},
		{"danger-full-access", preset.Input{Exec: fullAlways, Requirements: &requirements.Requirements{Sandboxes: []string{"read-only"}}}},
	} {
		got, err := preset.Resolve(c.in)
		if err == nil || !strings.Contains(err.Error(), c.says) || got != (preset.Result{}) {
			t.Errorf("%+v is %+v, %v; want an error that says %q", c.in, got, err, c.says)
		}
	}
}

// What is forced is never loosened by what is written down, and nothing is chosen that the
// machine does not allow, unless somebody has written it.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := func(name string, from ...string) string { return rapid.SampledFrom(append(from, "")).Draw(t, name) }
		write := func() preset.Settings {
			return preset.Settings{
				Preset: word("preset", "yolo", "guardian"), Approval: word("approval", "never", "on-request", "untrusted", "on-failure"),
				Sandbox: word("sandbox", "read-only", "workspace-write", "danger-full-access"), Reviewer: word("reviewer", "user", "auto_review"),
			}
		}
		in := preset.Input{Config: write(), HostSandboxed: rapid.Bool().Draw(t, "sandboxed")}
		in.Exec = execpolicy.Resolve([]execpolicy.Layer{{Mode: word("mode", "deny", "allowlist", "ask", "auto", "full"), Ask: word("ask", "always")}},
			execpolicy.Layer{Ask: word("floor", "always", "on-miss")})
		r := &requirements.Requirements{}
		if mode := word("allowed", "read-only", "workspace-write", "danger-full-access"); mode != "" {
			r.Sandboxes = []string{mode}
			in.Requirements = r
		}
		got, err := preset.Resolve(in)
		if err != nil {
			return
		}
		if got.Approval == "on-failure" || got.Approval == "" || got.Sandbox == "" || got.Reviewer == "" {
			t.Fatalf("%+v is no policy", got)
		}
		x := in.Exec
		if x.Touched && (x.Ask == "always" || x.Security == "allowlist") {
			if got.Approval != "on-request" || x.Security == "allowlist" && got.Sandbox == "danger-full-access" {
				t.Fatalf("%+v under %+v", got, x)
			}
		}
		written := in.Config.Sandbox != "" || in.Config.Preset != ""
		if !written && r.Sandbox(got.Sandbox) == "" {
			t.Fatalf("%+v is not allowed by %+v", got, *r)
		}
	})
}
