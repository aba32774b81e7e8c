package setting_test

import (
	"codex-bridge.example/bridge/setting"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var (
	ask        = setting.ExecPolicy{Mode: "ask", Security: "allowlist", Ask: "on-miss", Touched: true}
	auto       = setting.ExecPolicy{Mode: "auto", Security: "allowlist", Ask: "on-miss", Touched: true}
	fullAlways = setting.ExecPolicy{Mode: "ask", Security: "full", Ask: "always", Touched: true}
)

func TestResolvePreset(t *testing.T) {
	for _, c := range []struct {
		name string
		in   setting.PresetInput
		want setting.Values
	}{
		{"guardian", setting.PresetInput{Preset: "guardian"}, setting.Values{Approval: "on-request", Reviewer: "auto_review", Sandbox: "workspace-write"}},
		{"yolo, and forced to ask", setting.PresetInput{Preset: "yolo", Exec: ask}, setting.Values{Approval: "on-request", Reviewer: "user", Sandbox: "workspace-write"}},
		{"yolo, forced, and the requirements count", setting.PresetInput{Preset: "yolo", Exec: ask, Requirements: &setting.Requirements{Sandboxes: []string{"read-only"}}},
			setting.Values{Approval: "on-request", Reviewer: "user", Sandbox: "read-only"}},
		{"auto, with the older reviewer", setting.PresetInput{Exec: auto, Requirements: &setting.Requirements{Reviewers: []string{"user", "guardian_subagent"}}},
			setting.Values{Approval: "on-request", Reviewer: "guardian_subagent", Sandbox: "workspace-write"}},
		{"full and always", setting.PresetInput{Exec: fullAlways}, setting.Values{Approval: "on-request", Reviewer: "user", Sandbox: "danger-full-access"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := setting.ResolvePreset(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestResolvePresetErrors(t *testing.T) {
	for _, c := range []struct {
		says string
		in   setting.PresetInput
	}{
		{"preset", setting.PresetInput{Preset: "Yolo"}},
		{"may not be run", setting.PresetInput{Exec: setting.ExecPolicy{Mode: "deny", Security: "deny", Ask: "off", Touched: true}}},
		{"ask user", setting.PresetInput{Exec: ask, Requirements: &setting.Requirements{Approvals: []string{"never"}}}},
		{"ask auto_review", setting.PresetInput{Exec: auto, Requirements: &setting.Requirements{Reviewers: []string{"user"}}}},
		{"narrow enough", setting.PresetInput{Exec: ask, Requirements: &setting.Requirements{Sandboxes: []string{"danger-full-access"}}}},
		{"danger-full-access", setting.PresetInput{Exec: fullAlways, Requirements: &setting.Requirements{Sandboxes: []string{"read-only"}}}},
	} {
		got, err := setting.ResolvePreset(c.in)
		if err == nil || !strings.Contains(err.Error(), c.says) || got != (setting.Values{}) {
			t.Errorf("%+v is %+v, %v; want an error that says %q", c.in, got, err, c.says)
		}
	}
}

// A preset does not change the values that the exec policy forces. Without a preset every value is
// one that the machine allows.
func TestPresetLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := func(name string, from ...string) string { return rapid.SampledFrom(append(from, "")).Draw(t, name) }
		in := setting.PresetInput{Preset: word("preset", "yolo", "guardian")}
		in.Exec = setting.ResolveExec([]setting.ExecLayer{{Mode: word("mode", "deny", "allowlist", "ask", "auto", "full"), Ask: word("ask", "always")}},
			setting.ExecLayer{Ask: word("floor", "always", "on-miss")})
		r := &setting.Requirements{}
		if mode := word("allowed", "read-only", "workspace-write", "danger-full-access"); mode != "" {
			r.Sandboxes = []string{mode}
			in.Requirements = r
		}
		got, err := setting.ResolvePreset(in)
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
