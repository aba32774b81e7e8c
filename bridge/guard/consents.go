package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/rpc"
)

// permissionRequestEvent is the hook by which a client asks the user.
const permissionRequestEvent = "permissionRequest"

// Person asks the user of the client.
type Person interface {
	// Wants reports whether the client offered to ask the user about an event.
	Wants(event string) bool
	// Hook asks the client by a hook and returns its result.
	Hook(ctx context.Context, event string, payload json.RawMessage) (json.RawMessage, error)
	// ShowsElicitations reports whether the client declared that it shows elicitations of MCP servers.
	ShowsElicitations() bool
	// Elicit asks the client for a yes or no, as an elicitation without fields. thread is the id of
	// the thread that the question is about, or "" for none.
	Elicit(ctx context.Context, thread, message string) (rpc.Value, error)
}

// consentedRequests has the requests with the user's consent while they pass the guard. Safe for
// concurrent use.
type consentedRequests struct {
	mu       sync.Mutex
	messages map[*rpc.Message]bool
}

// has reports whether the user consented to this message.
func (c *consentedRequests) has(m *rpc.Message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.messages[m]
}

// add registers the user's consent to m. The caller calls remove after the request.
func (c *consentedRequests) add(m *rpc.Message) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.messages == nil {
		c.messages = make(map[*rpc.Message]bool)
	}
	c.messages[m] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.messages, m)
	}
}

// consentFeature is a bridge.Feature that asks the user about the requests for which policy.methods
// is "ask".
type consentFeature struct {
	g      *Guard
	person Person
	wait   func() time.Duration
}

// MethodQuestions returns the feature that asks the user about the requests for which
// policy.methods is "ask". wait returns how long the answer may take. The feature comes directly
// before the guard, which checks the request after the consent, and refuses it if the user can't be
// asked.
func (g *Guard) MethodQuestions(person Person, wait func() time.Duration) bridge.Feature {
	return &consentFeature{g, person, wait}
}

// Routes implements bridge.Feature.
func (a *consentFeature) Routes() []bridge.Route {
	return []bridge.Route{{
		From: bridge.Client, Method: bridge.Other, Why: "the user is asked if policy.methods says so", When: a.g.isActive, HandleClient: a.ask,
	}}
}

// Stage implements bridge.Feature.
func (*consentFeature) Stage() bridge.Stage { return bridge.BeforeGuard }

// ask holds the request until the user has answered. Other requests do not wait.
func (a *consentFeature) ask(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
	p := a.policyFor(call.Message)
	if p == nil || call.Kind != rpc.Request || call.Truncated() || !a.person.Wants(permissionRequestEvent) && !a.person.ShowsElicitations() {
		return nil // the guard refuses a request that needs a consent
	}
	m, err := rpc.ParseMessage(bytes.Clone(call.Bytes()))
	if err != nil { // the message was parsed before
		return rpc.Errorf(rpc.CodeInternal, "%v", err)
	}
	call.HandleAsync(func(ctx context.Context, async *bridge.AsyncRequest) {
		if err := a.decide(ctx, p, m); err != nil {
			async.Reply(rpc.EncodeError(m.ID, err))
			return
		}
		defer a.g.consents.add(m)()
		if err := async.Call(ctx, m, func(*bridge.ServerResponse) {}); err != nil {
			async.Reply(rpc.EncodeError(m.ID, err))
		}
	})
	return nil
}

// policyFor returns the policy that requires the user's consent to a message; nil if none does.
func (a *consentFeature) policyFor(m *rpc.Message) *policy.Policy {
	thread, _ := m.Params.Get("threadId").Text()
	for _, p := range a.g.policiesOf(m.Method, thread) {
		if p.NeedsConsent(m) {
			return p
		}
	}
	return nil
}

// maxParamsLen bounds the params that the user is asked about, in bytes. The decision log stores
// them whole.
const maxParamsLen = 1 << 20

// decide asks the user and logs the answer. The error refuses the request.
func (a *consentFeature) decide(ctx context.Context, p *policy.Policy, m *rpc.Message) *rpc.Error {
	key, origin := p.MethodOrigin(m.Method)
	allowed, why := false, fmt.Sprintf("its parameters have more than %d bytes, which are too many for the decision log", maxParamsLen)
	if len(m.Params.Raw()) <= maxParamsLen {
		allowed, why = a.askPerson(ctx, m)
	}
	accept := func(why string) policy.Decision {
		return policy.Decision{Verdict: policy.Accept, Changes: []policy.Change{{Field: "method", Rule: key, Reason: why, Origin: origin}}}
	}
	d := accept(why)
	if !allowed {
		d = policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{Method: display.Clip(m.Method), Rule: key, Reason: why, Origin: origin})}
	}
	a.g.logDecision(p.Mode(), m.Method, d)
	if allowed { // the client may have shown only a part of the params
		d = accept(why + " with " + string(orEmpty(m.Params)))
	}
	d = a.g.recordEffect(ctx, config.Enforce, subjectOf(m.Method, m.Params, m.Bytes()), d)
	if d.Verdict == policy.Deny {
		a.g.notifyApplied(m.Method, m.ID, m.Params, d)
	}
	return d.Err
}

// askPerson asks the user: by the hook if the client offered it, otherwise by an elicitation. Every
// answer except a clear yes counts as no.
func (a *consentFeature) askPerson(ctx context.Context, m *rpc.Message) (allowed bool, why string) {
	wait := a.wait()
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("no answer came within %s", wait))
	defer cancel()
	question := a.elicit
	if a.person.Wants(permissionRequestEvent) {
		question = a.hook
	}
	allowed, reason, err := question(ctx, m)
	switch {
	case err != nil:
		return false, err.Error()
	case allowed:
		return true, "the user allowed it"
	case reason != "":
		return false, "the user refused it: " + display.Clip(reason)
	}
	return false, "the user refused it"
}

// hook asks by bridge/hook. reason is the user's text for a refusal.
func (a *consentFeature) hook(ctx context.Context, m *rpc.Message) (allowed bool, reason string, err error) {
	payload := map[string]any{
		"hook_event_name": "PermissionRequest", "tool_name": m.Method, "tool_input": json.RawMessage(orEmpty(m.Params)),
		"reason": fmt.Sprintf("policy.methods requires your consent to %s.", display.Clip(m.Method)),
	}
	for name, member := range map[string]string{"session_id": "threadId", "cwd": "cwd"} {
		if text, ok := m.Params.Get(member).Text(); ok {
			payload[name] = text
		}
	}
	raw, err := json.Marshal(payload)
	if err != nil {
		return false, "", err
	}
	result, err := a.person.Hook(ctx, permissionRequestEvent, raw)
	if err != nil {
		return false, "", notAskedError(err)
	}
	answer, err := serverrequest.ReadPermissionAnswer(result)
	return answer.Allow, answer.Reason, err
}

// maxShown bounds the params that an elicitation shows, in characters.
const maxShown = 2000

// elicit asks by an elicitation, which has no reason.
func (a *consentFeature) elicit(ctx context.Context, m *rpc.Message) (allowed bool, _ string, err error) {
	thread, _ := m.Params.Get("threadId").Text()
	shown := []rune(display.Line(string(orEmpty(m.Params))))
	message := fmt.Sprintf("Allow %s? policy.methods requires your consent. Its parameters: %s", display.Clip(m.Method), string(shown[:min(len(shown), maxShown)]))
	if more := len(shown) - maxShown; more > 0 {
		message += fmt.Sprintf(" … (+%d more characters)", more)
	}
	result, err := a.person.Elicit(ctx, thread, message)
	if err != nil {
		return false, "", notAskedError(err)
	}
	if err := serverrequest.CheckAnswer("mcpServer/elicitation/request", result); err != nil {
		return false, "", err
	}
	return result.Get("action").Is("accept"), "", nil
}

// notAskedError returns the error for a question that has no answer.
func notAskedError(err error) error {
	if unreadable := new(bridge.UnreadableError); errors.As(err, &unreadable) {
		return err
	}
	return fmt.Errorf("the user was not asked: %w", err)
}

// orEmpty returns the JSON of params, or {} if there are none.
func orEmpty(params rpc.Value) []byte {
	if !params.Exists() {
		return []byte("{}")
	}
	return params.Raw()
}
