package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// askEvent is the hook by which a client asks its person.
const askEvent = "permissionRequest"

// Person is the person at the client.
type Person interface {
	// Wants reports whether the client offered to be asked about an event.
	Wants(event string) bool
	// Hook asks the client.
	Hook(ctx context.Context, event string, payload json.RawMessage) (json.RawMessage, error)
}

// consents are the requests to which a person has agreed, and which are on their way through the guard.
type consents struct {
	mu sync.Mutex
	m  map[*rpc.Message]bool
}

// has reports whether a person has agreed to this very message.
func (c *consents) has(m *rpc.Message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.m[m]
}

// add notes that a person has agreed to m, until remove.
func (c *consents) add(m *rpc.Message) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil {
		c.m = make(map[*rpc.Message]bool)
	}
	c.m[m] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.m, m)
	}
}

// asking is a bridge.Feature that asks a person about the requests for which policy.methods says "ask".
type asking struct {
	g      *Guard
	person Person
	wait   func() time.Duration
}

// Asking returns the feature that asks person about the requests for which policy.methods says "ask". wait is how long an
// answer may take. The feature stands right before the guard, which judges the request once the person has agreed, and
// refuses it where no person can be asked.
func (g *Guard) Asking(person Person, wait func() time.Duration) bridge.Feature {
	return &asking{g, person, wait}
}

// Routes implements bridge.Feature.
func (a *asking) Routes() []bridge.Route {
	return []bridge.Route{{
		From: bridge.Client, Method: bridge.Other, Why: "a person is asked where policy.methods says so", When: a.g.isActive, Call: a.ask,
	}}
}

// ask has the request wait for the person's answer. Other requests do not wait.
func (a *asking) ask(_ context.Context, call *bridge.Call) *rpc.Error {
	p := a.wants(call.Message)
	if p == nil || call.Kind != rpc.Request || call.Truncated() || !a.person.Wants(askEvent) {
		return nil // the guard decides, and refuses what a person had to be asked about
	}
	m, err := rpc.ParseMessage(bytes.Clone(call.Bytes()))
	if err != nil { // it was parsed once
		return rpc.Errorf(rpc.CodeInternal, "%v", err)
	}
	call.Aside(func(ctx context.Context, aside *bridge.Aside) {
		if err := a.answer(ctx, p, m); err != nil {
			aside.Reply(rpc.ReplyError(m.ID, err))
			return
		}
		defer a.g.consents.add(m)()
		if err := aside.Ask(ctx, m, func(*bridge.Answer) {}); err != nil {
			aside.Reply(rpc.ReplyError(m.ID, err))
		}
	})
	return nil
}

// wants returns the policy that wants a person asked about a message; nil: none does.
func (a *asking) wants(m *rpc.Message) *policy.Policy {
	thread, _ := m.Params.Get("threadId").Text()
	for _, p := range a.g.policiesOf(m.Method, thread) {
		if p.Asks(m) {
			return p
		}
	}
	return nil
}

// answer asks the person, and records the answer. The error refuses the request.
func (a *asking) answer(ctx context.Context, p *policy.Policy, m *rpc.Message) *rpc.Error {
	key, origin := p.AskOrigin(m.Method)
	allowed, why := a.put(ctx, m)
	d := policy.Decision{Verdict: policy.Accept, Changes: []policy.Change{{Field: "method", Rule: key, Reason: why, Origin: origin}}}
	if !allowed {
		d = policy.Decision{Verdict: policy.Deny, Err: policy.Refused(rpc.CodeRefused, policy.Refusal{Method: clip(m.Method), Rule: key, Reason: why, Origin: origin})}
	}
	a.g.report(p.Mode(), m.Method, d)
	if err := a.g.record(ctx, config.Enforce, subjectOf(m.Method, m.Params, m.Bytes()), d); err != nil && d.Err == nil {
		d = policy.Decision{Verdict: policy.Deny, Err: err}
	}
	if d.Verdict == policy.Deny {
		a.g.applied(m.Method, m.ID, m.Params, d)
	}
	return d.Err
}

// put puts the question to the person. Whatever is not a clear yes is a no.
func (a *asking) put(ctx context.Context, m *rpc.Message) (allowed bool, why string) {
	wait := a.wait()
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("no answer came within %s", wait))
	defer cancel()
	payload := map[string]any{
		"hook_event_name": "PermissionRequest", "tool_name": m.Method, "tool_input": json.RawMessage(orEmpty(m.Params)),
		"reason": fmt.Sprintf("policy.methods wants you to be asked about %s.", clip(m.Method)),
	}
	for name, member := range map[string]string{"session_id": "threadId", "cwd": "cwd"} {
		if text, ok := m.Params.Get(member).Text(); ok {
			payload[name] = text
		}
	}
	raw, err := json.Marshal(payload)
	if err != nil {
		return false, err.Error()
	}
	result, err := a.person.Hook(ctx, askEvent, raw)
	if err != nil {
		return false, "the person was not asked: " + err.Error()
	}
	var answer struct{ Decision, Reason string }
	if err := json.Unmarshal(result, &answer); err != nil {
		return false, "the client's answer can't be read: " + err.Error()
	}
	switch {
	case answer.Decision == "allow":
		return true, "the person allowed it"
	case answer.Reason != "":
		return false, "the person refused it: " + clip(answer.Reason)
	}
	return false, "the person refused it"
}

// orEmpty returns the JSON of params; {} where there are none.
func orEmpty(params rpc.Value) []byte {
	if !params.Exists() {
		return []byte("{}")
	}
	return params.Raw()
}
