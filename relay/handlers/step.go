package handlers

import (
	"context"
	"fmt"
	"slices"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/relay/hook"
)

// step is a handler, the client, policy or a person, consulted in turn.
type step struct {
	name     string // for the model and the log
	origin   string // where the handler is configured
	isClient bool
	run      func(context.Context, *hook.Call) (opinion, error)
}

// place returns the name of a step, with the place where it is configured.
func (s step) place() string {
	if s.origin == "" {
		return s.name
	}
	return s.name + " (" + s.origin + ")"
}

// opinion is the result of a step.
type opinion struct {
	hook.Answer
	retry *retry
}

// verdict is the answer of the chain so far, with the last ruling of policy.
type verdict struct {
	hook.Answer
	ruling Ruling
}

// steps returns the handlers of an event and the client, in order.
func (c *Chain) steps(h *config.Hooks, event hook.Event) []step {
	var all []step
	for _, handler := range h.Handlers {
		if handler.Event == string(event) {
			all = append(all, c.handlerStep(handler))
		}
	}
	if c.clientWants(event) {
		all = append(all, step{name: "the editor", isClient: true, run: c.askClient})
	}
	return all
}

// permissionSteps returns the steps of a PermissionRequest: the handlers, earlier consents, and the client.
func (c *Chain) permissionSteps(h *config.Hooks, call *hook.Call) []step {
	consents := step{name: "the bridge's policy", run: func(ctx context.Context, call *hook.Call) (op opinion, err error) {
		if c.options.Consents(ctx, call) {
			op.Decision = hook.Allow
		}
		return op, nil
	}}
	if !c.options.AsksPermission(call) {
		return []step{consents}
	}
	all := c.steps(h, call.Event)
	at := len(all)
	if at > 0 && all[at-1].isClient {
		at--
	}
	return slices.Insert(all, at, consents)
}

// clientWants reports whether the client wants the event. A panic counts as true, so that
// the failure is handled when the client is asked.
func (c *Chain) clientWants(event hook.Event) (yes bool) {
	defer func() {
		if p := recover(); p != nil {
			yes = true
		}
	}()
	return c.options.Client.Wants(ClientName(event))
}

// call runs the step. A panic is returned as an error.
func (s step) call(ctx context.Context, call *hook.Call) (op opinion, err error) {
	defer func() {
		if p := recover(); p != nil {
			op, err = opinion{}, fmt.Errorf("it panicked: %v", p)
		}
	}()
	return s.run(ctx, call)
}

// verdict returns the step's answer. A denial and a block always have a reason.
func (s step) verdict(op opinion) verdict {
	a := hook.Answer{Decision: op.Decision, Reason: op.Reason, Declined: op.Declined}
	if a.Reason == "" {
		switch a.Decision {
		case hook.Deny:
			a.Reason = fmt.Sprintf("Denied by %s, which gave no reason.", s.name)
		case hook.Block:
			a.Reason = fmt.Sprintf("Withheld by %s, which gave no reason.", s.name)
		}
	}
	return verdict{Answer: a}
}

// askClient sends bridge/hook to the client.
func (c *Chain) askClient(ctx context.Context, call *hook.Call) (opinion, error) {
	result, err := c.options.Client.Hook(ctx, ClientName(call.Event), call.Payload)
	if err != nil {
		return opinion{}, fmt.Errorf("it did not answer bridge/hook: %w", err)
	}
	return parseClientOutput(call.Event, result)
}

// failureReason tells the model what failed and how to fix it.
func failureReason(call *hook.Call, s step, err error) string {
	what := "The tool was not run"
	if call.ToolName != "" {
		what = fmt.Sprintf("%q was not run", display.ClipTo(call.ToolName, 200))
	}
	if call.Event == hook.PermissionRequest {
		what = "Permission was not given"
	}
	where, hint := "", hook.AdviceForModel
	if s.origin != "" {
		where = " (" + s.origin + ")"
		hint = "A handler exits with 0 and prints nothing or one JSON object, within its timeout. " + hook.AdviceForModel
	}
	return fmt.Sprintf("%s: %s%s, which has to be asked first, failed: %s. %s", what, s.name, where, display.ClipTo(problem.Text(err), maxReason), hint)
}
