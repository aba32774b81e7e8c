package guard

import (
	"context"
	"encoding/json"

	"codex-bridge/bridge"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/bridge/rollout"
	"codex-bridge/rpc"
)

// Resumed returns the parameters with which Codex would get a thread/resume of the client, for a feature that answers it
// in another way: the policies have decided about the folder, the sandbox and the approvals of the thread. approvalPolicy
// is the one that the client is shown, and config is the client's. Nothing is recorded. Without an enforced policy
// the parameters are the client's.
func (g *Guard) Resumed(ctx context.Context, m *rpc.Message) (rpc.Value, error) {
	p := g.policy.Load()
	if p.Mode() != config.Enforce {
		return m.Params, nil
	}
	patient := newLazyTimeout(ctx, g.codexTimeout)
	defer patient.cancel()
	j := g.judge(patient, []*policy.Policy{p}, &bridge.ClientMessage{Message: m, Line: m.Bytes()}, g.threads.writable.ofAll())
	if j.Err != nil {
		return rpc.Value{}, j.Err
	}
	sent, err := rpc.ParseMessage(j.Message)
	if err != nil {
		return rpc.Value{}, err
	}
	members := make(map[string]json.RawMessage)
	for name, v := range sent.Params.Members() {
		members[name] = v.Raw()
	}
	delete(members, "config")
	if v := m.Params.Get("config"); v.Exists() {
		members["config"] = v.Raw()
	}
	if j.Gated != nil && *j.Gated {
		members["approvalPolicy"] = json.RawMessage(`"untrusted"`)
	}
	text, err := json.Marshal(members)
	if err != nil {
		return rpc.Value{}, err
	}
	doc, err := rpc.ParseValue(text)
	if err != nil {
		return rpc.Value{}, err
	}
	return doc.Root(), nil
}

// LastSettings returns the settings that the thread of a rollout file had last, in the form of the threadSettings of
// thread/settings/updated, and its sandbox: what the last turn and a change of settings since both allow. The settings
// are nil if they are not known.
func (g *Guard) LastSettings(path string) (*rpc.Doc, policy.SandboxSettings) {
	settings := rollout.TurnSettings(g.world.CodexHome, path, "")
	if settings == nil { // the thread has had no turn, or its last turn is not in the part that is read
		return nil, policy.SandboxSettings{Mode: "read-only"}
	}
	stored := policy.ParseSandbox(settings.Root().Get("sandboxPolicy"))
	if applied := rollout.AppliedSettings(g.world.CodexHome, path); applied != nil {
		settings, stored = applied, stored.Intersect(policy.ParseSandbox(applied.Root().Get("sandboxPolicy")))
	}
	return settings, stored
}
