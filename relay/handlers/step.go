package handlers

import (
	"context"
	"fmt"

	"codex-bridge/bridge/config"
	"codex-bridge/relay/hook"
)

// step is one that is asked.
type step struct {
	by     string // in words, for the model and the log
	where  string // where it is configured
	client bool
	run    func(context.Context, *hook.Call) (opinion, error)
}

// opinion is what a step says.
type opinion struct {
	hook.Answer
	retry *retry
}

// verdict is the answer to a hook. If person is set, it asks a person, and its answer counts instead.
type verdict struct {
	hook.Answer
	person func(context.Context, *hook.Call) hook.Answer // Ruling.Person
}

// steps are those that are asked about an event, after the rules.
func (c *Chain) steps(h *config.Hooks, event hook.Event) []step {
	var all []step
	for _, handler := range h.Handlers {
		if handler.Event == string(event) {
			all = append(all, c.handler(handler))
		}
	}
	if c.o.Client != nil && c.offers(event) {
		all = append(all, step{by: "the editor", client: true, run: c.client})
	}
	return all
}

// offers asks the client; one that can't say what it offers is asked, so that its
// failure counts as one.
func (c *Chain) offers(event hook.Event) (yes bool) {
	defer func() {
		if p := recover(); p != nil {
			yes = true
		}
	}()
	return c.o.Client.Offers(asked[event])
}

// ask runs the step. A panic is its failure, not ours.
func (s step) ask(ctx context.Context, call *hook.Call) (say opinion, err error) {
	defer func() {
		if p := recover(); p != nil {
			say, err = opinion{}, fmt.Errorf("it panicked: %v", p)
		}
	}()
	return s.run(ctx, call)
}

// verdict is the answer that the step has given. A decision that takes something
// from the model is never without words.
func (s step) verdict(say opinion) verdict {
	a := hook.Answer{Decision: say.Decision, Reason: say.Reason}
	if a.Reason == "" {
		switch a.Decision {
		case hook.Deny:
			a.Reason = fmt.Sprintf("Denied by %s, which gave no reason.", s.by)
		case hook.Block:
			a.Reason = fmt.Sprintf("Withheld by %s, which gave no reason.", s.by)
		}
	}
	return verdict{Answer: a}
}

// client asks the editor.
func (c *Chain) client(ctx context.Context, call *hook.Call) (opinion, error) {
	result, err := c.o.Client.Ask(ctx, asked[call.Event], call.Payload)
	if err != nil {
		return opinion{}, fmt.Errorf("it did not answer bridge/hook: %w", err)
	}
	return fromClient(call.Event, result)
}

// sorry tells the model what failed and how it is mended.
func sorry(call *hook.Call, s step, err error) string {
	what := "The tool was not run"
	if call.ToolName != "" {
		what = fmt.Sprintf("%q was not run", clip(call.ToolName, 200))
	}
	if call.Event == hook.PermissionRequest {
		what = "Permission was not given"
	}
	where, mend := "", "Tell the user, and don't try another way."
	if s.where != "" {
		where = " (" + s.where + ")"
		mend = "A handler exits with 0 and prints nothing or one JSON object, within its timeout. Tell the user, and don't try another way."
	}
	return fmt.Sprintf("%s: %s%s, which has to be asked first, failed: %s. %s", what, s.by, where, clip(err.Error(), maxReason), mend)
}
