package guard

import (
	"encoding/json"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// Explanation is a decision and the mode it was made in.
type Explanation struct {
	Mode     config.Mode
	Decision policy.Decision
}

// MarshalJSON is the decision's with the mode beside its members.
func (e Explanation) MarshalJSON() ([]byte, error) {
	raw, err := json.Marshal(e.Decision)
	if err != nil {
		return nil, err
	}
	mode, err := json.Marshal(e.Mode)
	if err != nil {
		return nil, err
	}
	return append(append(append([]byte(`{"mode":`), mode...), ','), raw[1:]...), nil
}

// Explain judges m without any effect. Codex is not asked for its configuration:
// what the message leaves out counts as codex's own default. A thread that the
// Guard does not know counts as verified, with the start folder for a workspace.
func (g *Guard) Explain(m *rpc.Message) Explanation {
	p := g.policy.Load()
	state := g.world
	state.Defaults = emptyDefaults
	if id, ok := m.Params.Get("threadId").Text(); ok {
		if state.Thread = g.threads.peek(id); state.Thread == nil {
			state.Thread = &policy.Thread{ID: id, Workspace: g.world.Start}
		}
	}
	return Explanation{p.Mode(), p.Decide(m, state)}
}

// emptyDefaults is a codex configuration that says nothing.
var emptyDefaults = func() *policy.Defaults {
	doc, err := rpc.ParseValue([]byte(`{"config":{}}`))
	if err != nil {
		panic(err)
	}
	d, err := policy.ParseDefaults(doc.Root())
	if err != nil {
		panic(err)
	}
	return d
}()
