package guard

import (
	"encoding/json"

	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// Applied is what a client that knows the bridge is told of a decision: the params
// of bridge/policy/applied.
type Applied struct {
	Method   string          `json:"method"`
	ID       json.RawMessage `json:"id,omitempty"`
	ThreadID string          `json:"threadId,omitempty"`
	Verdict  policy.Verdict  `json:"verdict"`
	Changes  []policy.Change `json:"changes,omitempty"`
	Error    *policy.Refusal `json:"error,omitempty"`
}

// OnApplied has f told of each decision that has changed or refused a message. f
// must not wait. Call it before the conversation starts.
func (g *Guard) OnApplied(f func(Applied)) { g.listeners = append(g.listeners, f) }

func (g *Guard) applied(method string, id rpc.ID, params rpc.Value, d policy.Decision) {
	switch d.Verdict {
	case policy.Rewrite:
		g.counts.rewritten.Add(1)
	case policy.Deny:
		g.counts.refused.Add(1)
	}
	if len(g.listeners) == 0 {
		return
	}
	a := Applied{Method: clip(method), Verdict: d.Verdict, Changes: d.Changes, Error: d.Refusal()}
	if id.IsValid() {
		a.ID = json.RawMessage(id.Clone().Raw())
	}
	a.ThreadID, _ = params.Get("threadId").Text()
	for _, f := range g.listeners {
		f(a)
	}
}

// Counts are how many messages were rewritten and refused so far.
func (g *Guard) Counts() (rewritten, refused int64) {
	return g.counts.rewritten.Load(), g.counts.refused.Load()
}
