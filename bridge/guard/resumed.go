package guard

import (
	"context"
	"encoding/json"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// Resumed returns the params that Codex would get for a thread/resume of the client, for a feature
// that answers the request itself. The policies have decided the folder, the sandbox and the
// approvals. approvalPolicy is the one that the client is shown, and config is the client's.
// Nothing is logged. Without an enforced policy the params are the client's.
func (g *Guard) Resumed(ctx context.Context, m *rpc.Message) (rpc.Value, error) {
	p := g.policy.Load()
	if p.Mode() != config.Enforce {
		return m.Params, nil
	}
	waitCtx := newLazyTimeout(ctx, g.codexTimeout)
	defer waitCtx.cancel()
	j := g.judge(waitCtx, []*policy.Policy{p}, &bridge.ClientMessage{Message: m, Line: m.Bytes()}, g.threads.writable.ofAll())
	if j.decision.Err != nil {
		return rpc.Value{}, j.decision.Err
	}
	sent, err := rpc.ParseMessage(j.decision.Message)
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
	if j.decision.Gated != nil && *j.decision.Gated {
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

// LastSettings returns the settings that Codex restores for the thread of a rollout file, in the form of
// threadSettings in thread/settings/updated, and their sandbox. The settings are nil if there are none, or
// if they can't be read.
func (g *Guard) LastSettings(ctx context.Context, path string) (*rpc.Doc, policy.SandboxSettings) {
	settings, err := g.storedSettings(ctx, path)
	if err != nil || settings == nil {
		return nil, policy.SandboxSettings{Mode: "read-only"}
	}
	return settings, policy.ParseStoredSandbox(settings.Root())
}
