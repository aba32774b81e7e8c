package handlers

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"codex-bridge/bridge/child"
	"codex-bridge/bridge/config"
	"codex-bridge/relay/grants"
	"codex-bridge/relay/hook"
)

// Chain answers hooks.
type Chain struct {
	o         Options
	hooks     atomic.Pointer[config.Hooks]
	env       []string
	log       *slog.Logger
	revisions *revisions
	questions *grants.Limiter
}

// New makes a Chain.
func New(o Options) *Chain {
	c := &Chain{
		o: o, env: child.Environ(o.env(), "CODEX_HOME"), log: o.Log,
		revisions: newRevisions(), questions: o.Limiter,
	}
	if c.questions == nil {
		c.questions = grants.NewLimiter(nil)
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.SetConfig(o.Hooks)
	return c
}

// SetConfig puts another configuration in force, for the calls that come.
func (c *Chain) SetConfig(h config.Hooks) { c.hooks.Store(&h) }

// Answer is the answer to one hook.
func (c *Chain) Answer(ctx context.Context, call *hook.Call) hook.Answer {
	h := c.hooks.Load()
	v, person := c.decide(ctx, h, call)
	if person != nil {
		v = c.person(ctx, with(call, v.Input), v, person)
		if v.Decision != hook.Deny { // the rules may have changed since the person was asked
			if now, denied := c.rules(ctx, with(call, v.Input)); denied {
				v = now
			}
		}
	}
	if call.Event == hook.PreToolUse && v.Decision != hook.Deny && c.o.Confine != nil {
		v = c.confined(ctx, with(call, v.Input), v)
	}
	if call.Event == hook.PermissionRequest && v.Decision == hook.Allow && !c.permits(ctx, call) {
		v = verdict{}
	}
	return v.Answer
}

// decide hears everybody but the person; who that is, when they are to be asked, comes
// with the verdict.
func (c *Chain) decide(ctx context.Context, h *config.Hooks, call *hook.Call) (v verdict, person func(context.Context, *hook.Call) hook.Answer) {
	if call.Event.Name() == "" {
		return verdict{}, nil
	}
	if h.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(h.Timeout))
		defer cancel()
	}
	if call.Event.Decides() {
		v, denied := c.rules(ctx, call)
		if denied {
			return v, nil
		}
		person = v.person
	}
	switch call.Event {
	case hook.PreToolUse:
		v = c.preToolUse(ctx, h, call, person)
		if v.Decision == hook.Deny {
			return v, nil
		}
		return v, v.person
	case hook.PermissionRequest:
		return c.permissionRequest(ctx, h, call), nil
	case hook.PostToolUse:
		return c.postToolUse(ctx, h, call), nil
	default:
		return c.stop(ctx, h, call), nil
	}
}

// person has a person say whether what all others let pass may run.
func (c *Chain) person(ctx context.Context, call *hook.Call, passed verdict, ask func(context.Context, *hook.Call) hook.Answer) verdict {
	s := step{by: "the person"}
	s.run = func(ctx context.Context, call *hook.Call) (opinion, error) {
		return opinion{Answer: ask(ctx, call)}, nil
	}
	if _, v, denied := c.obey(ctx, call, s); denied {
		return v
	}
	return passed
}

func (c *Chain) preToolUse(ctx context.Context, h *config.Hooks, call *hook.Call, person func(context.Context, *hook.Call) hook.Answer) verdict {
	last := verdict{person: person}
	for _, s := range c.steps(h, call.Event) {
		say, err := s.ask(ctx, call)
		if err == nil && say.Decision != hook.Deny && say.Input != nil {
			var changed bool
			if changed, err = rewritten(call, say.Input); changed {
				call = with(call, say.Input)
				v, denied := c.rules(ctx, call)
				if denied {
					v.Reason = fmt.Sprintf("%s (The input as %s rewrote it.)", v.Reason, s.by)
					return v
				}
				last = verdict{Answer: hook.Answer{Input: say.Input}, person: v.person}
			}
		}
		switch {
		case err != nil:
			if v := c.fail(h, call, s, err); v.Decision != "" {
				return v
			}
		case say.Decision == hook.Deny:
			return s.verdict(say)
		}
	}
	return last
}

// permissionRequest: an allow here is the end of the question: Codex asks nobody
// after it (measured). So all handlers must have been heard; a person is not
// bothered with what a handler has allowed.
func (c *Chain) permissionRequest(ctx context.Context, h *config.Hooks, call *hook.Call) verdict {
	var last verdict
	for _, s := range c.steps(h, call.Event) {
		if s.client && (last.Decision == hook.Allow || !c.questions.Allow(call.SessionID)) {
			continue
		}
		say, ok := c.hear(ctx, h, call, s, &last)
		switch {
		case !ok && last.Decision == hook.Deny:
			return last
		case ok && say.Decision == hook.Deny:
			return s.verdict(say)
		case ok && say.Decision == hook.Allow && last.Decision == "":
			last = verdict{Answer: hook.Answer{Decision: hook.Allow}}
		}
	}
	return last
}

// postToolUse: all of them look on; the first that blocks has its reason shown.
func (c *Chain) postToolUse(ctx context.Context, h *config.Hooks, call *hook.Call) verdict {
	var last verdict
	for _, s := range c.steps(h, call.Event) {
		if say, ok := c.hear(ctx, h, call, s, &last); ok && say.Decision == hook.Block && last.Decision == "" {
			last = s.verdict(say)
		}
	}
	return last
}

// stop: the first opinion counts, where there is room for it.
func (c *Chain) stop(ctx context.Context, h *config.Hooks, call *hook.Call) verdict {
	var last verdict
	for _, s := range c.steps(h, call.Event) {
		say, ok := c.hear(ctx, h, call, s, &last)
		switch {
		case !ok:
		case say.Decision == hook.Finish:
			return s.verdict(say)
		case say.Decision == hook.Revise && c.revisions.take(call, h.MaxRevisions, say.retry):
			return s.verdict(say)
		}
	}
	return last
}

// hear asks a step. Where it fails, it is not ok, and last is what counts then.
func (c *Chain) hear(ctx context.Context, h *config.Hooks, call *hook.Call, s step, last *verdict) (say opinion, ok bool) {
	say, err := s.ask(ctx, call)
	if err == nil {
		return say, true
	}
	if v := c.fail(h, call, s, err); v.Decision != "" {
		*last = v
	}
	return say, false
}

// obey hears a step whose failure is a denial, whatever hooks.on_failure says: that speaks of
// handlers, neither of policy nor of a person.
func (c *Chain) obey(ctx context.Context, call *hook.Call, s step) (say opinion, v verdict, denied bool) {
	say, err := s.ask(ctx, call)
	switch {
	case err != nil:
		c.log.Error("hook", "event", call.Event, "by", s.by, "error", err)
		return opinion{}, verdict{Answer: hook.Answer{Decision: hook.Deny, Reason: sorry(call, s, err)}}, true
	case say.Decision == hook.Deny:
		return say, s.verdict(say), true
	}
	return say, verdict{}, false
}

// rules asks policy.
func (c *Chain) rules(ctx context.Context, call *hook.Call) (verdict, bool) {
	if c.o.Rules == nil {
		return verdict{}, false
	}
	s := step{by: "the bridge's policy"}
	var ruling Ruling
	s.run = func(ctx context.Context, call *hook.Call) (say opinion, err error) {
		if ruling = c.o.Rules(ctx, call); ruling.Refusal != "" {
			say.Decision, say.Reason = hook.Deny, ruling.Refusal
		}
		return say, nil
	}
	if _, v, denied := c.obey(ctx, call, s); denied {
		return v, true
	}
	return verdict{person: ruling.Person}, false
}

// confined holds what may run to where it may.
func (c *Chain) confined(ctx context.Context, call *hook.Call, passed verdict) verdict {
	s := step{by: "the bridge's policy"}
	s.run = func(ctx context.Context, call *hook.Call) (say opinion, err error) {
		if say.Input, say.Reason = c.o.Confine(ctx, call); say.Reason != "" {
			say.Decision = hook.Deny
		}
		return say, nil
	}
	say, v, denied := c.obey(ctx, call, s)
	switch {
	case denied:
		return v
	case say.Input != nil:
		passed.Input = say.Input
	}
	return passed
}

// permits reports whether policy lets an allow stand. A panic is a no.
func (c *Chain) permits(ctx context.Context, call *hook.Call) (yes bool) {
	if c.o.Permits == nil {
		return true
	}
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("hook", "event", call.Event, "panic", p)
			yes = false
		}
	}()
	return c.o.Permits(ctx, call)
}

// fail is what counts when a step has failed.
func (c *Chain) fail(h *config.Hooks, call *hook.Call, s step, err error) verdict {
	c.log.Warn("hook", "event", call.Event, "by", s.by, "where", s.where, "error", err)
	var v verdict
	if call.Event.Decides() && h.OnFailure != "allow" {
		v.Answer = hook.Answer{Decision: hook.Deny, Reason: sorry(call, s, err)}
	}
	return v
}
