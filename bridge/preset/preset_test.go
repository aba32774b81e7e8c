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
		{"guardian", preset.Input{Preset: "guardian"}, preset.Result{Approval: "on-request", Reviewer: "auto_review", Sandbox: "workspace-write"}},
		{"yolo, and forced to ask", preset.Input{Preset: "yolo", Exec: ask}, preset.Result{Approval: "on-request", Reviewer: "user", Sandbox: "workspace-write"}},
		{"yolo, forced, and the requirements count", preset.Input{Preset: "yolo", Exec: ask, Requirements: &requirements.Requirements{Sandboxes: []string{"read-only"}}},
			preset.Result{Approval: "on-request", Reviewer: "user", Sandbox: "read-only"}},
		{"auto, with the older reviewer", preset.Input{Exec: auto, Requirements: &requirements.Requirements{Reviewers: []string{"user", "guardian_subagent"}}},
			preset.Result{Approval: "on-request", Reviewer: "guardian_subagent", Sandbox: "workspace-write"}},
		{"full and always", preset.Input{Exec: fullAlways}, preset.Result{Approval: "on-request", Reviewer: "user", Sandbox: "danger-full-access"}},
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
		{"preset", preset.Input{Preset: "Yolo"}},
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

// A preset does not change the values that the exec policy forces. Without a preset every value is one that the
// machine allows.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := func(name string, from ...string) string { return rapid.SampledFrom(append(from, "")).Draw(t, name) }
		in := preset.Input{Preset: word("preset", "yolo", "guardian")}
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
		if in.Preset == "" && r.Sandbox(got.Sandbox) == "" {
			t.Fatalf("%+v is not allowed by %+v", got, *r)
		}
	})
}
