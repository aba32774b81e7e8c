package setting_test

import (
	"encoding/json"
	"testing"

	"codex-bridge/bridge/bridgetest/vectors"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/bridge/setting"
)

// same compares what is written with a JSON text.
func same(t *testing.T, got any, want json.RawMessage) {
	t.Helper()
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var g, w any
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(want, &w); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func orNothing(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func TestEffortOffered(t *testing.T) {
	for _, c := range []struct {
		level, model, want string
		offered            []string
	}{
		{"ultra", "gpt-6", "ultra", nil},
		{"minimal", "gpt-6", "low", []string{"low", "high", "ultra"}},
		{"minimal", "gpt-5.5", "minimal", []string{"minimal", "low"}},
		{"minimal", "gpt-5.2", "low", nil},
		{"adaptive", "gpt-6", "", []string{"low"}},
	} {
		if got := setting.Effort(c.level, c.model, c.offered); got != c.want {
			t.Errorf("Effort(%q, %q, %q) = %q, want %q", c.level, c.model, c.offered, got, c.want)
		}
	}
}

func TestSandboxPolicyVectors(t *testing.T) {
	var v struct {
		Cases []struct {
			Mode, Cwd string
			Policy    json.RawMessage
		}
		ServiceTier []struct {
			In, Out *string
			IsFast  bool
		}
	}
	vectors.Read(t, "sandbox_policy_for_turn.json", &v)
	if len(v.Cases) == 0 || len(v.ServiceTier) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range v.Cases {
		t.Run(c.Mode+" "+c.Cwd, func(t *testing.T) {
			got, err := setting.TurnSandbox(c.Mode, c.Cwd)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, c.Policy)
		})
	}
	for _, c := range v.ServiceTier {
		in, want := orNothing(c.In), orNothing(c.Out)
		t.Run("tier "+in, func(t *testing.T) {
			got := setting.ServiceTier(in)
			if got != want {
				t.Errorf("ServiceTier(%q) = %q, want %q", in, got, want)
			}
			if (got == setting.Priority) != c.IsFast {
				t.Errorf("%q is fast: %v, want %v", in, !c.IsFast, c.IsFast)
			}
		})
	}
}

func TestWords(t *testing.T) {
	if _, err := setting.TurnSandbox("workspace-write", ""); err == nil {
		t.Error("workspace-write without a folder makes a sandbox")
	}
	if _, err := setting.TurnSandbox("full", "/w"); err == nil {
		t.Error("an unknown mode makes a sandbox")
	}
	for word, want := range map[string]string{"on-failure": "on-request", "never": "never", "untrusted": "untrusted"} {
		if got := setting.Approval(word); got != want {
			t.Errorf("Approval(%q) = %q, want %q", word, got, want)
		}
	}
}
