package turns

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/lifecycle/params"
	"codex-bridge.example/lifecycle/threads"
	"codex-bridge.example/rpc"
)

// settings are the settings for the next turn. "" keeps the current value.
type settings struct {
	Model       string
	Effort      string
	ServiceTier tier
	Approval    string
	Sandbox     string
	limits      limits
}

// limits are the approval policy, as JSON, and the sandbox that a turn gets with settings: those that the policy
// allows. "" is that of the thread.
type limits struct{ approval, sandbox string }

// effectiveSettings are settings with the approval policy and the sandbox that a turn gets.
type effectiveSettings struct {
	Model       string          `json:"model,omitempty"`
	Effort      string          `json:"effort,omitempty"`
	ServiceTier tier            `json:"serviceTier,omitzero"`
	Approval    json.RawMessage `json:"approvalPolicy,omitempty"`
	Sandbox     string          `json:"sandbox,omitempty"`
}

func (s settings) effective() *effectiveSettings {
	return &effectiveSettings{s.Model, s.Effort, s.ServiceTier, json.RawMessage(s.limits.approval), s.limits.sandbox}
}

// tier is a service tier, or none. The zero value keeps the current one.
type tier struct {
	name string
	none bool
}

// MarshalJSON returns the name, or null for none.
func (t tier) MarshalJSON() ([]byte, error) {
	if t.none {
		return []byte("null"), nil
	}
	return json.Marshal(t.name)
}

// into sets s in a turn. now holds the settings of the thread, and offered the efforts of each model.
func (s settings) into(t *params.Turn, now threads.Settings, offered map[string][]string) {
	if s.Model != "" && s.Model != now.Model {
		t.ThreadEffort = "" // another model has its own default effort
	}
	t.Model = cmp.Or(s.Model, t.Model)
	if s.ServiceTier != (tier{}) {
		t.ServiceTier, t.ClearsTier = s.ServiceTier.name, s.ServiceTier.none
	}
	t.Approval, t.Sandbox = cmp.Or(s.Approval, t.Approval), cmp.Or(s.Sandbox, t.Sandbox)
	if s.Effort != "" {
		// A turn with a model has a mode. Without one the effort of the previous mode would count.
		t.Model = cmp.Or(t.Model, now.Model)
		t.Effort, t.ThreadEffort = setting.Effort(s.Effort, t.Model, offered[t.Model]), ""
	}
	if t.Sandbox != "" {
		t.Cwd = cmp.Or(t.Cwd, now.Cwd)
	}
}

// over returns s with the non-empty settings of other.
func (s settings) over(other settings) settings {
	s.Model, s.Effort = cmp.Or(other.Model, s.Model), cmp.Or(other.Effort, s.Effort)
	if other.Approval != "" {
		s.Approval, s.limits.approval = other.Approval, other.limits.approval
	}
	if other.Sandbox != "" {
		s.Sandbox, s.limits.sandbox = other.Sandbox, other.limits.sandbox
	}
	s.ServiceTier = cmp.Or(other.ServiceTier, s.ServiceTier)
	return s
}

func settingsOf(p rpc.Value) (s settings, err error) {
	for name, to := range map[string]*string{
		"model": &s.Model, "effort": &s.Effort, "serviceTier": &s.ServiceTier.name, "approvalPolicy": &s.Approval, "sandbox": &s.Sandbox,
	} {
		if *to, err = word(p, name); err != nil {
			return s, err
		}
	}
	s.ServiceTier.name, s.Approval = setting.ServiceTier(s.ServiceTier.name), setting.Approval(s.Approval)
	s.ServiceTier.none = p.Get("serviceTier").Kind() == rpc.Null
	if s.Sandbox != "" && !setting.IsSandbox(s.Sandbox) {
		return s, invalid("params.sandbox: write read-only, workspace-write or danger-full-access")
	}
	if s == (settings{}) {
		return s, invalid("params: nothing to set; give model, effort, serviceTier (null for none), approvalPolicy or sandbox")
	}
	return s, nil
}

// set handles bridge/turn/set: {sessionKey or threadId, …} → {threadId, next}. The settings apply
// from the next turn, if the policy allows them; a session keeps them. The thread gets its approval
// policy and sandbox at once.
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
		next, err := c.set(ctx, session, wanted)
		if err != nil {
			return nil, err
		}
		return map[string]any{"threadId": c.thread.ID, "next": next}, nil
	}, nil
}

// set sets what bridge/turn/set wants, and returns all that is set for the next turn.
func (c *conversation) set(ctx context.Context, session string, wanted settings) (*effectiveSettings, error) {
	f := c.f
	var err error
	if wanted.limits, err = f.setLimits(ctx, c.thread.ID, wanted); err != nil {
		return nil, err
	}
	if session != "" {
		err := f.o.Threads.Change(ctx, session, c.thread.ID, func(b *binding.Binding) {
			now := settings{Model: b.Model, ServiceTier: tier{name: b.ServiceTier}, Approval: b.ApprovalPolicy, Sandbox: b.Sandbox}.over(wanted)
			b.Model, b.ServiceTier, b.ApprovalPolicy, b.Sandbox = now.Model, now.ServiceTier.name, now.Approval, now.Sandbox
			b.KeepsSandbox = b.KeepsSandbox && wanted.Sandbox == ""
		})
		if err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c.next = c.next.over(wanted)
	return c.next.effective(), nil
}

// stricter returns what parameters of thread/start limit more than the settings of a thread do.
func stricter(start json.RawMessage, now threads.Settings) (wanted settings) {
	doc, err := rpc.ParseValue(start)
	if err != nil {
		return settings{} // Codex gets it if the session needs a thread, and refuses it
	}
	if doc.Root().Get("approvalPolicy").Is(setting.Untrusted) && now.Approval != setting.Untrusted {
		wanted.Approval = setting.Untrusted
	}
	mode, _ := doc.Root().Get("sandbox").Text()
	if profile, ok := doc.Root().Get("permissions").Text(); ok {
		mode = modesOfProfiles[profile]
	}
	if setting.IsSandbox(mode) && isNarrower(mode, now.Sandbox) {
		wanted.Sandbox = mode
	}
	return wanted
}

// isNarrower reports whether a sandbox mode allows less than was; "" may allow all.
func isNarrower(mode, was string) bool {
	return slices.Index(setting.Sandboxes[:], mode) < slices.Index(setting.Sandboxes[:], cmp.Or(was, setting.DangerFullAccess))
}

// setLimits gives a thread its wanted approval policy and sandbox. So they count for each next turn: also for one
// that the client starts by turn/start, and after a restart of the bridge.
//
// A value that the policy forbids for the thread is left to the next turn, which gets the nearest allowed one. But the
// strictest values are an error then: such a turn would not have them. After an error the thread has neither value: the
// others are sent together, and a refused message changes nothing. setLimits returns the limits that a turn gets.
func (f *Feature) setLimits(ctx context.Context, id string, wanted settings) (effective limits, err error) {
	update, err := f.limits(ctx, id, wanted)
	if err != nil {
		return effective, err
	}
	if effective.sandbox = wanted.Sandbox; wanted.Approval != "" {
		word, _ := json.Marshal(wanted.Approval) // a string can be encoded
		effective.approval = string(word)
	}
	strictest := map[string]bool{"approvalPolicy": wanted.Approval == setting.Untrusted, "sandboxPolicy": wanted.Sandbox == setting.ReadOnly}
	for len(update) > 0 {
		params := maps.Clone(update)
		params["threadId"] = id
		_, err := f.peer.CallAsClient(ctx, "thread/settings/update", params)
		var refused *rpc.Error
		if err == nil || !errors.As(err, &refused) || refused.Code != rpc.CodeRefused {
			return effective, err
		}
		refusal := refusalOf(refused)
		forbidden := forbiddenLimits(refusal, update)
		for _, name := range forbidden {
			if strictest[name] {
				return effective, err
			}
			delete(update, name)
			effective.lower(name, refusal)
		}
		f.o.Log.Info("settings of bridge/turn/set wait for the next turn", "thread", id, "settings", forbidden, "error", err)
	}
	return effective, nil
}

// lower replaces a limit that the policy forbids by that which the refusal allows.
func (l *limits) lower(name string, refusal policy.Refusal) {
	switch at := "params." + name; {
	case refusal.Field != at && refusal.Field != "": // a member of the sandbox
	case name == "approvalPolicy":
		l.approval = string(refusal.Allowed)
	default:
		var allowed setting.SandboxPolicy
		_ = json.Unmarshal(refusal.Allowed, &allowed) // without one, a turn keeps the sandbox of the thread
		l.sandbox = setting.ThreadSandbox(allowed.Type)
	}
}

// refusalOf returns the policy's refusal; without data it names no value.
func refusalOf(refused *rpc.Error) (refusal policy.Refusal) {
	_ = json.Unmarshal(refused.Data, &refusal)
	return refusal
}

// limits returns the wanted approval policy and sandbox as params of thread/settings/update.
func (f *Feature) limits(ctx context.Context, id string, wanted settings) (map[string]any, error) {
	update := make(map[string]any)
	if wanted.Approval != "" {
		update["approvalPolicy"] = wanted.Approval
	}
	if wanted.Sandbox != "" {
		b, err := f.o.Threads.Bound(ctx, id)
		if err != nil {
			return nil, err
		}
		cwd := cmp.Or(b.Cwd, f.o.Threads.Settings(id).Cwd)
		excluded, err := f.excluded(ctx, id, wanted.Sandbox, cwd)
		if err != nil {
			return nil, err
		}
		sandbox, err := setting.TurnSandbox(wanted.Sandbox, cwd, excluded)
		if err != nil {
			return nil, invalid("params.sandbox: %v", err)
		}
		update["sandboxPolicy"] = sandbox
	}
	return update, nil
}

// excluded returns what a sandbox of that mode excludes in a thread.
func (f *Feature) excluded(ctx context.Context, id, mode, cwd string) (setting.Excluded, error) {
	if mode != setting.WorkspaceWrite {
		return setting.Excluded{}, nil
	}
	return f.o.Threads.Excluded(ctx, id, cwd)
}

// forbiddenLimits returns the values of an update that the policy's refusal names, or all if it names none.
func forbiddenLimits(refusal policy.Refusal, update map[string]any) []string {
	for name := range update {
		if at := "params." + name; refusal.Field == at || strings.HasPrefix(refusal.Field, at+".") {
			return []string{name}
		}
	}
	return slices.Sorted(maps.Keys(update))
}

// learnEfforts requests the efforts of the models once, if level needs them. If the request fails,
// setting.Effort uses its own list.
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
