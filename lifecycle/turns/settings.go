package turns

import (
	"context"

	"codex-bridge/bridge/setting"
	"codex-bridge/lifecycle/binding"
	"codex-bridge/lifecycle/params"
	"codex-bridge/rpc"
)

// settings are what the next turn is to have; "" as it is.
type settings struct {
	Model       string `json:"model,omitempty"`
	Effort      string `json:"effort,omitempty"`
	ServiceTier string `json:"serviceTier,omitempty"`
	Approval    string `json:"approvalPolicy,omitempty"`
	Sandbox     string `json:"sandbox,omitempty"`
}

// into writes them into turn/start. With the model goes a mode: the one that a turn by
// another trigger has left in the thread comes before the turn's own model.
func (s settings) into(p map[string]any, cwd string, t params.Trigger, words params.Words) error {
	for name, text := range map[string]string{
		"model": s.Model, "effort": s.Effort, "serviceTier": s.ServiceTier, "approvalPolicy": s.Approval,
	} {
		if text != "" {
			p[name] = text
		}
	}
	if s.Model != "" {
		mode, err := params.CollaborationMode(t, words, s.Model, s.Effort)
		if err != nil {
			return err
		}
		p["collaborationMode"] = mode
	}
	if s.Sandbox == "" {
		return nil
	}
	policy, err := setting.TurnSandbox(s.Sandbox, cwd)
	if err != nil {
		return err
	}
	p["sandboxPolicy"] = policy
	return nil
}

// over is other where it says something, else s.
func (s settings) over(other settings) settings {
	for from, to := range map[*string]*string{
		&other.Model: &s.Model, &other.Effort: &s.Effort, &other.ServiceTier: &s.ServiceTier, &other.Approval: &s.Approval, &other.Sandbox: &s.Sandbox,
	} {
		if *from != "" {
			*to = *from
		}
	}
	return s
}

func settingsOf(p rpc.Value) (s settings, err error) {
	for name, to := range map[string]*string{
		"model": &s.Model, "effort": &s.Effort, "serviceTier": &s.ServiceTier, "approvalPolicy": &s.Approval, "sandbox": &s.Sandbox,
	} {
		if *to, err = word(p, name); err != nil {
			return s, err
		}
	}
	s.ServiceTier, s.Approval = setting.ServiceTier(s.ServiceTier), setting.Approval(s.Approval)
	if s.Sandbox != "" && !setting.IsSandbox(s.Sandbox) {
		return s, invalid("params.sandbox: write read-only, workspace-write or danger-full-access")
	}
	if s == (settings{}) {
		return s, invalid("params: nothing to set; give model, effort, serviceTier, approvalPolicy or sandbox")
	}
	return s, nil
}

// set is bridge/turn/set: {sessionKey or threadId, …} → {threadId, next}. It takes effect
// with the next turn, where the policy allows it; a session keeps it.
func (f *Feature) set(p rpc.Value) (later, error) {
	a, err := addressOf(p)
	if err != nil {
		return nil, err
	}
	wanted, err := settingsOf(p)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		c, session, err := f.opened(ctx, a, nil)
		if err != nil {
			return nil, err
		}
		f.mu.Lock()
		c.next = c.next.over(wanted)
		next := c.next
		f.mu.Unlock()
		if session != "" {
			err = f.o.Threads.Change(ctx, session, c.thread.ID, func(b *binding.Binding) {
				now := settings{b.Model, "", b.ServiceTier, b.ApprovalPolicy, b.Sandbox}.over(wanted)
				b.Model, b.ServiceTier, b.ApprovalPolicy, b.Sandbox = now.Model, now.ServiceTier, now.Approval, now.Sandbox
			})
		}
		return map[string]any{"threadId": c.thread.ID, "next": next}, err
	}, nil
}
