package requirements_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/bridge/requirements"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       requirements.Requirements
	}{
		{"empty", "", requirements.Requirements{}},
		{"spellings", `allowed_sandbox_modes = ["Read Only", "workspace_write", "DANGER-FULL-ACCESS"]`,
			requirements.Requirements{Sandboxes: []string{"read-only", "workspace-write", "danger-full-access"}}},
		{"unknown words", `allowed_sandbox_modes = ["moon", 5]
			allowed_approval_policies = ["never", "moon"]`, requirements.Requirements{Approvals: []string{"never"}}},
		{"below another table", `[other]
			allowed_sandbox_modes = ["read-only"]`, requirements.Requirements{}},
		{"the first section that matches", `allowed_sandbox_modes = ["danger-full-access"]
			[[remote_sandbox_config]]
			hostname_patterns = ["x", "HOST-?"]
			allowed_sandbox_modes = ["read-only"]
			[[remote_sandbox_config]]
			hostname_patterns = ["*"]
			allowed_sandbox_modes = ["workspace-write"]`, requirements.Requirements{Sandboxes: []string{"read-only"}}},
		{"a section that says nothing", `allowed_sandbox_modes = ["read-only"]
			[[remote_sandbox_config]]
			hostname_patterns = ["host-1"]
			allowed_sandbox_modes = ["moon"]`, requirements.Requirements{Sandboxes: []string{"read-only"}}},
		{"a pattern that is none", `[[remote_sandbox_config]]
			hostname_patterns = ["[host"]
			allowed_sandbox_modes = ["read-only"]`, requirements.Requirements{}},
		{"reviewers", `allowed_approvals_reviewers = ["user", "guardian_subagent"]`,
			requirements.Requirements{Reviewers: []string{"user", "guardian_subagent"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := requirements.Parse([]byte(c.text), "Host-1")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for _, text := range []string{"allowed_sandbox_modes = [", `allowed_sandbox_modes = "read-only"`, "a = 1\na = 2", `remote_sandbox_config = 5`} {
		if r, err := requirements.Parse([]byte(text), "h"); err == nil {
			t.Errorf("%q is read as %+v", text, r)
		}
	}
}

func TestChoice(t *testing.T) {
	var none *requirements.Requirements
	r := &requirements.Requirements{Sandboxes: []string{"danger-full-access", "read-only"}, Approvals: []string{"never", "untrusted"}, Reviewers: []string{"user"}}
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

func TestPath(t *testing.T) {
	if got := requirements.Path("windows", `C:\ProgramData`); got != `C:\ProgramData\OpenAI\Codex\requirements.toml` {
		t.Error(got)
	}
	if got := requirements.Path("darwin", ""); got != "/etc/codex/requirements.toml" {
		t.Error(got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("allowed_sandbox_modes = [\n  \"read-only\", # c\n  'workspace-write'\n]\n"), "host")
	f.Fuzz(func(t *testing.T, text []byte, host string) {
		r, err := requirements.Parse(text, host)
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
