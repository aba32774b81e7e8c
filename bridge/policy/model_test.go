package policy_test

import (
	"encoding/json"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
)

// TestDecideModel checks that the lists for clients apply to the bridge's own requests.
func TestDecideModel(t *testing.T) {
	for _, test := range []struct {
		name            string
		models, efforts []string
		asked, want     policy.Model
		verdict         policy.Verdict
	}{
		{"no lists", nil, nil, policy.Model{Name: "m", Effort: "low"}, policy.Model{Name: "m", Effort: "low"}, policy.Pass},
		{"in the list", []string{"gpt-5*"}, []string{"low"}, policy.Model{Name: "gpt-5.5", Effort: "low"}, policy.Model{Name: "gpt-5.5", Effort: "low"}, policy.Pass},
		{"replaced", []string{"gpt-6*", "gpt-5.5"}, []string{"high", "max"}, policy.Model{Name: "m", Effort: "low"}, policy.Model{Name: "gpt-5.5", Effort: "high"}, policy.Rewrite},
		{"no plain name", []string{"gpt-5*"}, nil, policy.Model{Name: "m"}, policy.Model{}, policy.Deny},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := config.Default().Policy
			cfg.Mode, cfg.Models, cfg.Efforts = config.Enforce, test.models, test.efforts
			p, err := policy.New(cfg, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, d := p.DecideModel("bridge/x", test.asked)
			if got != test.want || d.Verdict != test.verdict {
				t.Errorf("%+v, %s", got, d.Verdict)
			}
			if p.AllowsModel(test.asked.Name) != (got.Name == test.asked.Name) {
				t.Errorf("AllowsModel(%q) says otherwise", test.asked.Name)
			}
			if refused := d.Refusal(); test.verdict == policy.Deny && (refused == nil || refused.Rule != "policy.models" || refused.Method != "bridge/x") {
				t.Errorf("%+v", refused)
			}
			for _, c := range d.Changes {
				var from, to string
				if json.Unmarshal(c.From, &from) != nil || json.Unmarshal(c.To, &to) != nil || from == to || c.Reason == "" {
					t.Errorf("%+v", c)
				}
			}
		})
	}
}
