package setting_test

import (
	"testing"

	"codex-bridge.example/bridge/setting"
)

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

func TestWords(t *testing.T) {
	if _, err := setting.TurnSandbox("workspace-write", "", setting.Excluded{}); err == nil {
		t.Error("workspace-write without a folder makes a sandbox")
	}
	if _, err := setting.TurnSandbox("full", "/w", setting.Excluded{}); err == nil {
		t.Error("an unknown mode makes a sandbox")
	}
	for word, want := range map[string]string{"on-failure": "on-request", "never": "never", "untrusted": "untrusted"} {
		if got := setting.Approval(word); got != want {
			t.Errorf("Approval(%q) = %q, want %q", word, got, want)
		}
	}
}
