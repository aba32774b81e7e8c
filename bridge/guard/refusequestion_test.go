package guard

import (
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/rpc"
)

// An active policy that only audits does not change the decision of the enforced policy of an open thread: its refusal
// would have no effect, and no person would be asked. An enforced one refuses.
func TestQuestionIsRefusedByEnforcedPolicies(t *testing.T) {
	compile := func(mode config.Mode, methods map[string]string) *policy.Policy {
		cfg := config.Default().Policy
		cfg.Mode, cfg.Methods = mode, methods
		p, err := policy.New(cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	input, err := rpc.ParseValue([]byte(`{"command":"touch x"}`))
	if err != nil {
		t.Fatal(err)
	}
	use, asks := toolcall.Call{Name: "Bash", Input: input.Root()}, policy.Decision{Verdict: policy.Pass, Ask: true}
	deny := map[string]string{"item/commandExecution/requestApproval": "deny"}
	kept := compile(config.Enforce, nil)
	for mode, refused := range map[config.Mode]bool{config.Audit: false, config.Enforce: true} {
		active := compile(mode, deny)
		d, by := refuseQuestion([]*policy.Policy{kept, active}, kept, asks, use)
		if (d.Err != nil) != refused || (by == active) != refused {
			t.Errorf("beside %s: %+v", mode, d)
		}
	}
}
