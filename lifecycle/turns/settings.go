package turns

import (
	"cmp"
	"context"

	"codex-bridge/bridge/setting"
	"codex-bridge/lifecycle/binding"
	"codex-bridge/lifecycle/params"
	"codex-bridge/lifecycle/threads"
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

// into sets them in a turn. now are the settings of the thread, and offered are the efforts that each
// model takes.
func (s settings) into(t *params.Turn, now threads.Settings, offered map[string][]string) {
	if s.Model != "" && s.Model != now.Model {
		t.Standing = "" // another model has an effort of its own
	}
	t.Model, t.ServiceTier = cmp.Or(s.Model, t.Model), cmp.Or(s.ServiceTier, t.ServiceTier)
	t.Approval, t.Sandbox = cmp.Or(s.Approval, t.Approval), cmp.Or(s.Sandbox, t.Sandbox)
	if s.Effort != "" {
		// The model goes with it, so that the turn has a mode: without one, the effort of the
		// mode before would count.
		t.Model = cmp.Or(t.Model, now.Model)
		t.Effort, t.Standing = setting.Effort(s.Effort, t.Model, offered[t.Model]), ""
	}
	if t.Sandbox != "" {
		t.Cwd = cmp.Or(t.Cwd, now.Cwd)
	}
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
		f.learnEfforts(ctx, wanted.Effort)
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

// learnEfforts asks Codex which efforts its models take, where that matters for a level.
// Without an answer the models that setting.Effort knows count.
func (f *Feature) learnEfforts(ctx context.Context, level string) {
	f.mu.Lock()
	known := f.efforts != nil
	f.mu.Unlock()
	if known || !setting.IsMinimal(level) {
		return
	}
	result, err := f.peer.Call(ctx, "model/list", map[string]any{"limit": 100, "includeHidden": true})
	if err != nil {
		f.o.Log.Warn("codex does not list its models; those that refuse the effort minimal are guessed", "error", err)
		return
	}
	efforts := make(map[string][]string)
	for m := range result.Get("data").Elements() {
		list := []string{}
		for e := range m.Get("supportedReasoningEfforts").Elements() {
			if word, ok := e.Get("reasoningEffort").Text(); ok {
				list = append(list, word)
			}
		}
		for _, name := range []string{"id", "model"} {
			if text, ok := m.Get(name).Text(); ok && len(list) > 0 {
				efforts[text] = list
			}
		}
	}
	f.mu.Lock()
	f.efforts = efforts
	f.mu.Unlock()
}
