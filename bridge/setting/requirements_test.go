package setting_test

import (
	"codex-bridge.example/bridge/setting"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseRequirements(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       setting.Requirements
	}{
		{"empty", "", setting.Requirements{}},
		{"spellings", `allowed_sandbox_modes = ["Read Only", "workspace_write", "DANGER-FULL-ACCESS"]`,
			setting.Requirements{Sandboxes: []string{"read-only", "workspace-write", "danger-full-access"}}},
		{"unknown words", `allowed_sandbox_modes = ["moon", 5]
			allowed_approval_policies = ["never", "moon"]`, setting.Requirements{Approvals: []string{"never"}}},
		{"below another table", `[other]
			allowed_sandbox_modes = ["read-only"]`, setting.Requirements{}},
		{"the first section that matches", `allowed_sandbox_modes = ["danger-full-access"]
			[[remote_sandbox_config]]
			hostname_patterns = ["x", "HOST-?"]
			allowed_sandbox_modes = ["read-only"]
			[[remote_sandbox_config]]
			hostname_patterns = ["*"]
			allowed_sandbox_modes = ["workspace-write"]`, setting.Requirements{Sandboxes: []string{"read-only"}}},
		{"a section that says nothing", `allowed_sandbox_modes = ["read-only"]
			[[remote_sandbox_config]]
			hostname_patterns = ["host-1"]
			allowed_sandbox_modes = ["moon"]`, setting.Requirements{Sandboxes: []string{"read-only"}}},
		{"a pattern that is none", `[[remote_sandbox_config]]
			hostname_patterns = ["[host"]
			allowed_sandbox_modes = ["read-only"]`, setting.Requirements{}},
		{"reviewers", `allowed_approvals_reviewers = ["user", "guardian_subagent"]`,
			setting.Requirements{Reviewers: []string{"user", "guardian_subagent"}}},
		{"rules", `[[rules.prefix_rules]]
			pattern = [{ token = "git" }, { any_of = ["push", "pull"] }]
			decision = "prompt-user"
			justification = "why"
			[[rules.prefix_rules]]
			pattern = [{ token = "rm" }]
			decision = "forbidden"
			canonical_matching = true`,
			setting.Requirements{Rules: []setting.PrefixRule{
				{Pattern: [][]string{{"git"}, {"push", "pull"}}, Reason: "why"}, {Pattern: [][]string{{"rm"}}, Forbidden: true, AnyCase: true},
			}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := setting.ParseRequirements([]byte(c.text), "Host-1")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRequirementsErrors(t *testing.T) {
	for _, text := range []string{"allowed_sandbox_modes = [", `allowed_sandbox_modes = "read-only"`, "a = 1\na = 2", `remote_sandbox_config = 5`} {
		if r, err := setting.ParseRequirements([]byte(text), "h"); err == nil {
			t.Errorf("%q is read as %+v", text, r)
		}
	}
}

func TestRequirementsChoice(t *testing.T) {
	var none *setting.Requirements
	r := &setting.Requirements{Sandboxes: []string{"danger-full-access", "read-only"}, Approvals: []string{"never", "untrusted"}, Reviewers: []string{"user"}}
	for got, want := range map[string]string{
		"all: " + none.Sandbox(): "all: workspace-write", "one: " + none.Approval("never"): "one: never", "reviewer: " + none.Reviewer(): "reviewer: auto_review",
		r.Sandbox(): "read-only", r.Approval(): "untrusted", r.Reviewer(): "user",
		"not: " + r.Sandbox("workspace-write"): "not: ", "second: " + r.Reviewer("auto_review", "user"): "second: user",
	} {
		if got != want {
			t.Errorf("chosen is %q, want %q", got, want)
		}
	}
}

func TestRequirementsPath(t *testing.T) {
	if got := setting.RequirementsPath("windows", `C:\ProgramData`); got != `C:\ProgramData\OpenAI\Codex\requirements.toml` {
		t.Error(got)
	}
	if got := setting.RequirementsPath("darwin", ""); got != "/etc/codex/requirements.toml" {
		t.Error(got)
	}
}

func FuzzParseRequirements(f *testing.F) {
	f.Add([]byte("allowed_sandbox_modes = [\n  \"read-only\", # c\n  'workspace-write'\n]\n"), "host")
	f.Fuzz(func(t *testing.T, text []byte, host string) {
		r, err := setting.ParseRequirements(text, host)
		if err != nil {
			return
		}
		for _, mode := range r.Sandboxes {
			if mode != "read-only" && mode != "workspace-write" && mode != "danger-full-access" {
				t.Errorf("%q is allowed", mode)
			}
		}
		if r.Sandbox() == "" || r.Approval() == "" || r.Reviewer() == "" {
			t.Errorf("nothing is allowed at all: %+v", r)
		}
	})
}
