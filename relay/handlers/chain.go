package handlers

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"codex-bridge.example/bridge/child"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/relay/hook"
)

// Chain decides on hooks. It may be used by many goroutines at once.
type Chain struct {
	options   Options
	hooks     atomic.Pointer[config.Hooks]
	env       []string
	log       *slog.Logger
	revisions *revisionLimiter
}

// New returns a Chain with the given options.
func New(o Options) *Chain {
	c := &Chain{options: o, env: child.Environ(os.Environ(), "CODEX_HOME"), log: o.Log, revisions: newRevisionLimiter()}
	c.SetConfig(o.Hooks)
	return c
}

// SetConfig replaces the configuration for later calls.
func (c *Chain) SetConfig(h config.Hooks) { c.hooks.Store(&h) }

// Answer returns the answer to one run of a hook. It returns when ctx ends at the latest.
func (c *Chain) Answer(ctx context.Context, call *hook.Call) hook.Answer {
	h := c.hooks.Load()
	v := c.decide(ctx, h, call)
	if call.Event == hook.PreToolUse && v.Decision != hook.Deny && v.ruling.Person == nil && len(c.steps(h, call.Event)) > 0 {
		v = c.applyRulesAgain(ctx, call, v) // they may have changed while a handler ran
	}
	if v.Decision != hook.Deny {
		v = c.askPeople(ctx, call, v)
	}
	if call.Event == hook.PreToolUse && v.Decision != hook.Deny {
		v = c.confine(ctx, withInput(call, v.Input), v)
	}
	if v.Input != nil && v.Decision != hook.Deny {
		v = c.lastCheck(ctx, withInput(call, v.Input), v, c.options.Replaces)
	}
	if passed := v.ruling.Passed; passed != nil && call.Event == hook.PreToolUse && v.Decision != hook.Deny {
		v = c.lastCheck(ctx, withInput(call, v.Input), v, passed)
	}
	if call.Event == hook.PermissionRequest && v.Decision == hook.Allow && !c.permitsAllow(ctx, call) {
		v = verdict{}
	}
	return v.Answer
}

// decide consults everyone but the person.
func (c *Chain) decide(ctx context.Context, h *config.Hooks, call *hook.Call) verdict {
	if call.Event.Name() == "" {
		return verdict{}
	}
	if h.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(h.Timeout))
		defer cancel()
	}
	var v verdict
	if call.Event.Decides() {
		var denied bool
		if v, denied = c.applyRules(ctx, call); denied {
			return v
		}
	}
	switch call.Event {
	case hook.PreToolUse:
		return c.preToolUse(ctx, h, call, v)
	case hook.PermissionRequest:
		return c.permissionRequest(ctx, h, call)
	case hook.PostToolUse:
		return c.postToolUse(ctx, h, call)
	default:
		return c.stop(ctx, h, call)
	}
}

// askPeople asks the person that the rules want to be asked. The rules may change meanwhile: those that want
// more are asked, too.
func (c *Chain) askPeople(ctx context.Context, call *hook.Call, v verdict) verdict {
	for v.ruling.Person != nil {
		asks := v.ruling.Asks
		if v = c.askPerson(ctx, withInput(call, v.Input), v, v.ruling.Person); v.Decision == hook.Deny {
			return v
		}
		if v = c.applyRulesAgain(ctx, call, v); v.Decision == hook.Deny || v.ruling.Asks.Equal(asks) {
			return v
		}
	}
	return v
}

// askPerson asks a person whether a call that nothing else denied may run.
func (c *Chain) askPerson(ctx context.Context, call *hook.Call, passed verdict, ask func(context.Context, *hook.Call) hook.Answer) verdict {
	s := step{name: "the person"}
	s.run = func(ctx context.Context, call *hook.Call) (opinion, error) {
		return opinion{Answer: ask(ctx, call)}, nil
	}
	if _, v, denied := c.enforce(ctx, call, s); denied {
		return v
	}
	return passed
}

func (c *Chain) preToolUse(ctx context.Context, h *config.Hooks, call *hook.Call, last verdict) verdict {
	for _, s := range c.steps(h, call.Event) {
		op, err := s.call(ctx, call)
		if err == nil && op.Decision != hook.Deny && op.Input != nil {
			var changed bool
			if changed, err = changesInput(call, op.Input); changed {
				call = withInput(call, op.Input)
				v, denied := c.applyRules(ctx, call)
				if denied {
					v.Reason = fmt.Sprintf("%s (The input as %s rewrote it.)", v.Reason, s.name)
					return v
				}
				last = verdict{Answer: hook.Answer{Input: op.Input}, ruling: v.ruling}
			}
		}
		switch {
		case err != nil:
			if v := c.failureVerdict(ctx, h, call, s, err); v.Decision != "" {
				return v
			}
		case op.Decision == hook.Deny:
			return c.denied(ctx, call, s, op)
		}
	}
	return last
}

// denied returns the verdict of a step that denies a call. Options.Denied hears of a handler's; the client and the person
// know their own.
func (c *Chain) denied(ctx context.Context, call *hook.Call, s step, op opinion) verdict {
	if !s.isClient {
		c.options.Denied(ctx, call, s.place()+" has denied it: "+display.ClipTo(op.Reason, maxReason))
	}
	return s.verdict(op)
}

// permissionRequest consults all handlers before it allows: after an allow, Codex asks
// nothing more (measured). The client is not asked if a handler, a rule or a person has allowed.
func (c *Chain) permissionRequest(ctx context.Context, h *config.Hooks, call *hook.Call) verdict {
	var last verdict
	for _, s := range c.permissionSteps(h, call) {
		if s.isClient && (last.Decision == hook.Allow || !c.options.Limiter.Allow(call.SessionID, "")) {
			continue
		}
		op, ok := c.consult(ctx, h, call, s, &last)
		switch {
		case !ok && last.Decision == hook.Deny:
			return last
		case ok && op.Decision == hook.Deny:
			return c.denied(ctx, call, s, op)
		case ok && op.Decision == hook.Allow && last.Decision == "":
			last = verdict{Answer: hook.Answer{Decision: hook.Allow}}
		}
	}
	return last
}

// postToolUse consults every step. The first block counts.
func (c *Chain) postToolUse(ctx context.Context, h *config.Hooks, call *hook.Call) verdict {
	var last verdict
	for _, s := range c.steps(h, call.Event) {
		if op, ok := c.consult(ctx, h, call, s, &last); ok && op.Decision == hook.Block && last.Decision == "" {
			last = s.verdict(op)
		}
	}
	return last
}

// stop takes the first opinion. A revision beyond the limit is skipped.
func (c *Chain) stop(ctx context.Context, h *config.Hooks, call *hook.Call) verdict {
	var last verdict
	for _, s := range c.steps(h, call.Event) {
		op, ok := c.consult(ctx, h, call, s, &last)
		switch {
		case !ok:
		case op.Decision == hook.Finish:
			return s.verdict(op)
		case op.Decision == hook.Revise && c.revisions.take(call, h.MaxRevisions, op.retry):
			return s.verdict(op)
		}
	}
	return last
}

// consult calls a step. If the step fails, ok is false, and last is set to a denial where a
// failure denies.
func (c *Chain) consult(ctx context.Context, h *config.Hooks, call *hook.Call, s step, last *verdict) (op opinion, ok bool) {
	op, err := s.call(ctx, call)
	if err == nil {
		return op, true
	}
	if v := c.failureVerdict(ctx, h, call, s, err); v.Decision != "" {
		*last = v
	}
	return op, false
}

// enforce calls a step of policy or of a person. Its failure is a denial whatever
// hooks.on_failure says, because that setting is for handlers.
func (c *Chain) enforce(ctx context.Context, call *hook.Call, s step) (op opinion, v verdict, denied bool) {
	op, err := s.call(ctx, call)
	switch {
	case err != nil:
		c.log.Error("hook", "event", call.Event, "by", s.name, "error", err)
		c.options.Denied(ctx, call, s.place()+" failed: "+display.ClipTo(problem.Text(err), maxReason))
		return opinion{}, verdict{Answer: hook.Answer{Decision: hook.Deny, Reason: failureReason(call, s, err)}}, true
	case op.Decision == hook.Deny:
		return op, s.verdict(op), true
	}
	return op, verdict{}, false
}

// applyRules applies the rules of policy and reports whether they deny.
func (c *Chain) applyRules(ctx context.Context, call *hook.Call) (verdict, bool) {
	s := step{name: "the bridge's policy"}
	var ruling Ruling
	s.run = func(ctx context.Context, call *hook.Call) (op opinion, err error) {
		if ruling = c.options.Rules(ctx, call); ruling.Refusal != "" {
			op.Decision, op.Reason = hook.Deny, ruling.Refusal
		}
		return op, nil
	}
	if _, v, denied := c.enforce(ctx, call, s); denied {
		return v, true
	}
	return verdict{ruling: ruling}, false
}

// applyRulesAgain applies the rules to a call that has passed with a verdict, as they are now.
func (c *Chain) applyRulesAgain(ctx context.Context, call *hook.Call, passed verdict) verdict {
	now, denied := c.applyRules(ctx, withInput(call, passed.Input))
	if denied {
		return now
	}
	passed.ruling = now.ruling
	return passed
}

// lastCheck denies a call that nothing denied if check returns a reason.
func (c *Chain) lastCheck(ctx context.Context, call *hook.Call, last verdict, check func(context.Context, *hook.Call) (refusal string)) verdict {
	s := step{name: "the bridge's policy"}
	s.run = func(ctx context.Context, call *hook.Call) (op opinion, err error) {
		if op.Reason = check(ctx, call); op.Reason != "" {
			op.Decision = hook.Deny
		}
		return op, nil
	}
	if _, v, denied := c.enforce(ctx, call, s); denied {
		return v
	}
	return last
}

// confine applies Options.Confine to a call that nothing denied.
func (c *Chain) confine(ctx context.Context, call *hook.Call, passed verdict) verdict {
	s := step{name: "the bridge's policy"}
	s.run = func(ctx context.Context, call *hook.Call) (op opinion, err error) {
		if op.Input, op.Reason = c.options.Confine(ctx, call); op.Reason != "" {
			op.Decision = hook.Deny
		}
		return op, nil
	}
	op, v, denied := c.enforce(ctx, call, s)
	switch {
	case denied:
		return v
	case op.Input != nil:
		passed.Input = op.Input
	}
	return passed
}

// permitsAllow reports whether policy accepts an allow. A panic counts as false.
func (c *Chain) permitsAllow(ctx context.Context, call *hook.Call) (yes bool) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("hook", "event", call.Event, "panic", p)
			yes = false
		}
	}()
	return c.options.Permits(ctx, call)
}

// failureVerdict returns the verdict after a failed step: a denial, or no opinion if the
// event does not decide or on_failure is "allow". Options.Denied or Options.Failed hears of it.
func (c *Chain) failureVerdict(ctx context.Context, h *config.Hooks, call *hook.Call, s step, err error) verdict {
	c.log.Warn("hook", "event", call.Event, "by", s.name, "where", s.origin, "error", err)
	if call.Event.Decides() && h.OnFailure != "allow" {
		c.options.Denied(ctx, call, s.place()+" failed: "+display.ClipTo(problem.Text(err), maxReason))
		return verdict{Answer: hook.Answer{Decision: hook.Deny, Reason: failureReason(call, s, err)}}
	}
	c.options.Failed(ctx, call, fmt.Sprintf("%s, which is asked at %s, failed: %s", s.place(), call.Event, display.ClipTo(problem.Text(err), maxReason)))
	return verdict{}
}
