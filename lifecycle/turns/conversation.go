package turns

import (
	"context"
	"encoding/json"

	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/lifecycle/params"
	"codex-bridge.example/lifecycle/threads"
	"codex-bridge.example/lifecycle/turn"
	"codex-bridge.example/rpc"
)

// conversation is one loaded thread. Feature.mu guards the fields that change.
type conversation struct {
	f      *Feature
	thread *turn.Thread
	inbox  *turn.Inbox             // nil before the first message
	end    context.CancelCauseFunc // ends inbox

	next  settings // of the next turn
	going settings // of the last requested turn
	watch *watch   // the requested compaction, or nil
	stuck bool     // a turn took too long and could not be interrupted
}

// conversation returns the conversation of a thread. It creates one if there is none.
func (f *Feature) conversation(id string) *conversation {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.open[id]
	if c == nil {
		c = &conversation{f: f, thread: turn.NewThread(id, codex{f, id})}
		f.open[id] = c
	}
	return c
}

// openInbox returns the inbox of the conversation and starts it if necessary.
func (c *conversation) openInbox() (*turn.Inbox, error) {
	f := c.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.open[c.thread.ID] != c {
		return nil, errClosed
	}
	if c.inbox == nil {
		c.inbox = turn.NewInbox(turn.InboxOptions{
			Thread: c.thread, Start: func(items []json.RawMessage) (json.RawMessage, error) { return c.turn(f.ctx, written(items), "", nil) },
			Answer: func(text string) bool { return f.questions.answer(c.thread.ID, text) },
			Failed: c.failed,
		})
		var ctx context.Context
		ctx, c.end = context.WithCancelCause(f.ctx)
		f.workers.Go(func() { c.inbox.Run(ctx) }) // ends with the thread, or with Close
	}
	return c.inbox, nil
}

// failed notifies the client of a queued message that can't be sent.
func (c *conversation) failed(m turn.Message, err error) {
	c.f.o.Log.Error("a queued message could not be sent", "thread", c.thread.ID, "error", err)
	c.f.o.Tell("bridge/turn/failed", map[string]any{"threadId": c.thread.ID, "text": m.Text, "error": problem.Text(err)})
}

// turn returns the parameters of turn/start for an input, with the settings of the session's
// binding and those set for the next turn. The trigger goes to the feature of the threads, which
// knows the thread's mode. The first turn of a thread has the history in front of the input.
func (c *conversation) turn(ctx context.Context, in params.Input, trigger params.Trigger, history []binding.HistoryMessage) (json.RawMessage, error) {
	id, f := c.thread.ID, c.f
	b, err := f.o.Threads.Bound(ctx, id)
	if err != nil {
		return nil, err
	}
	now := f.o.Threads.Settings(id)
	items := in.Items
	if len(history) > 0 && f.o.Threads.Fresh(id) {
		items = in.WithPrefix(binding.QuoteHistory(history, in.Text, binding.EngineMaxChars(b.ContextEngine)))
	}
	t := params.Turn{
		Thread: b.ThreadID, Input: items, Cwd: b.Cwd, Approval: b.ApprovalPolicy, Sandbox: nextSandbox(b), Model: b.Model, ServiceTier: b.ServiceTier,
		ThreadEffort: now.Effort, Trigger: trigger, Instructions: f.o.Threads.TriggerInstructions(),
	}
	c.take(&t, now)
	if t.Excluded, err = f.excluded(ctx, id, t.Sandbox, t.Cwd); err != nil {
		return nil, err
	}
	return t.Params()
}

// take gives a turn the settings for the next one.
func (c *conversation) take(t *params.Turn, now threads.Settings) {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.going = c.next
	c.next.into(t, now, c.f.efforts)
}

// written returns an input of unchanged items.
func written(items []json.RawMessage) (in params.Input) {
	for _, item := range items {
		in.Items = append(in.Items, params.RawItem(item))
	}
	return in
}

// began clears the settings for the next turn when Codex has started a turn with them.
func (f *Feature) began(thread string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.open[thread]; c != nil && c.going == c.next {
		c.next = settings{}
	}
}

// errClosed is the error for requests of a thread that Codex has unloaded.
var errClosed = rpc.Errorf(rpc.CodeUpstream, "the thread was closed")

// forget removes a thread that Codex has unloaded and stops its inbox. end fails the waiting
// messages; call it when the thread knows that it is closed.
func (f *Feature) forget(id string) (end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.open[id]
	delete(f.open, id)
	if c == nil || c.inbox == nil {
		return func() {}
	}
	c.inbox.Stop()
	return func() { c.end(errClosed) }
}
