package guard

import (
	"log/slog"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/supervise"
	"codex-bridge.example/rpc"
)

// BenchmarkProgram decides the start of a program of a call by one rule.
func BenchmarkProgram(b *testing.B) {
	cfg := config.Default().Policy
	cfg.Mode, cfg.Rules = config.Enforce, []config.Rule{{Command: "shutdown **", Decision: "deny"}}
	p, err := policy.New(cfg, nil)
	if err != nil {
		b.Fatal(err)
	}
	g := New(p, World(), NoRecord, slog.New(slog.DiscardHandler))
	opened, err := rpc.ParseValue([]byte(`{"thread":{"id":"t"},"cwd":"/","model":"gpt-5.5","approvalPolicy":"on-request","approvalsReviewer":"user","sandbox":{"type":"readOnly","networkAccess":false}}`))
	if err != nil {
		b.Fatal(err)
	}
	if err := g.threads.registerOpened(g.Policy, g, openedThread{sent: &policy.SentSettings{}, result: opened.Root(), world: g.world, order: 1}); err != nil {
		b.Fatal(err)
	}
	of := supervise.Call{Thread: "t", Turn: "1", ID: "c"}
	g.calls.start(turnOf{"t", "1"}, "c")
	start := supervise.Start{Programs: []supervise.Program{{Path: "/usr/bin/true", File: "/usr/bin/true", Args: []string{"true", "one", "two"}, Dir: "/"}}}
	b.ReportAllocs()
	for b.Loop() {
		if r, _ := g.Program(b.Context(), of, toolcall.Call{}, start); r.Refusal != "" || r.Ask {
			b.Fatal(r)
		}
	}
}
