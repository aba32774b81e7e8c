package turns

import (
	"context"
	"encoding/json"

	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/lifecycle/params"
	"codex-bridge.example/lifecycle/turn"
	"codex-bridge.example/rpc"
)

// opened returns the conversation of an address, loaded in Codex. It resumes an unloaded thread. A
// session without a thread gets one with the parameters start, unless start is nil. If Codex does not
// know the thread, turn.IsThreadGone is true for the error.
func (f *Feature) opened(ctx context.Context, a address, start json.RawMessage) (c *conversation, session string, err error) {
	if a, err = f.resolved(ctx, a); err != nil {
		return nil, "", err
	}
	if a.session == "" {
		if f.o.Threads.Open(a.thread) {
			return f.conversation(a.thread), "", nil
		}
		return f.resumed(ctx, a.thread, map[string]any{"threadId": a.thread}, "")
	}
	b, err := f.o.Threads.Session(ctx, a.session)
	if err != nil {
		return nil, "", err
	}
	switch {
	case !b.Bound() && start == nil:
		return nil, "", noThread(a.session)
	case !b.Bound():
		return f.started(ctx, a.session, start, func(p any) (rpc.Value, error) { return f.peer.CallAsClient(ctx, "thread/start", p) })
	case f.isStuck(b.ThreadID):
		return f.replaced(ctx, a.session, b, binding.ReasonTurnStuck)
	case f.o.Threads.Open(b.ThreadID):
		return f.conversation(b.ThreadID), a.session, nil
	}
	if f.o.Threads.TooLarge(b.ThreadID) {
		return f.replaced(ctx, a.session, b, binding.ReasonRolloutTooLarge)
	}
	p := map[string]any{"threadId": b.ThreadID}
	for name, text := range map[string]string{
		"model": b.Model, "serviceTier": b.ServiceTier, "approvalPolicy": b.ApprovalPolicy, "sandbox": nextSandbox(b),
	} {
		if text != "" {
			p[name] = text
		}
	}
	if limits := b.Replacement.Excluded().Config(); p["sandbox"] == setting.WorkspaceWrite && len(limits) > 0 {
		p["config"] = limits
	}
	return f.resumed(ctx, b.ThreadID, p, a.session)
}

// threadOf returns the thread of an address, loaded or not.
func (f *Feature) threadOf(ctx context.Context, a address) (string, error) {
	if a.session == "" {
		return a.thread, nil
	}
	b, err := f.o.Threads.Session(ctx, a.session)
	if err == nil && !b.Bound() {
		err = noThread(a.session)
	}
	return b.ThreadID, err
}

func noThread(session string) error {
	return invalid("the session %q has no thread; start one with thread/start or bridge/turn/run", session)
}

func (f *Feature) resumed(ctx context.Context, id string, p map[string]any, session string) (*conversation, string, error) {
	result, err := f.peer.CallAsClient(ctx, "thread/resume", p)
	if err != nil {
		return nil, "", err
	}
	f.noteResumed(result)
	was := id
	if now, _ := result.Get("thread").Get("id").Text(); now != "" {
		id = now // a fork, if the configuration says so
	}
	if session != "" {
		if err := f.o.Threads.Resumed(ctx, session, was, id); err != nil {
			return nil, "", err
		}
	}
	return f.conversation(id), session, nil
}

// started starts a thread for the session by call. A later feature binds it.
func (f *Feature) started(ctx context.Context, session string, start json.RawMessage, call func(params any) (rpc.Value, error)) (*conversation, string, error) {
	var p map[string]json.RawMessage
	if err := json.Unmarshal(start, &p); err != nil {
		return nil, "", err
	}
	if p == nil {
		p = make(map[string]json.RawMessage)
	}
	var about map[string]json.RawMessage
	if raw, ok := p["bridge"]; ok {
		if err := json.Unmarshal(raw, &about); err != nil {
			return nil, "", invalid("params.thread.bridge: %v", err)
		}
	}
	if about == nil {
		about = make(map[string]json.RawMessage)
	}
	about["sessionKey"] = rpc.Encode(session)
	var provider string
	if json.Unmarshal(p["modelProvider"], &provider) == nil {
		p["modelProvider"] = rpc.Encode(codexProvider(provider))
	}
	p["bridge"] = rpc.Encode(about)
	result, err := call(p)
	if err != nil {
		return nil, "", err
	}
	id, _ := result.Get("thread").Get("id").Text()
	if id == "" {
		return nil, "", rpc.Errorf(rpc.CodeUpstream, "codex has started a thread without an id")
	}
	if err := f.bind(ctx, session, id, rpc.Encode(p), result); err != nil {
		return nil, "", err
	}
	return f.conversation(id), session, nil
}

// bind stores the settings with which the session's thread was started.
func (f *Feature) bind(ctx context.Context, session, id string, asked json.RawMessage, result rpc.Value) error {
	doc, err := rpc.ParseValue(asked)
	if err != nil {
		return err
	}
	return f.o.Threads.Change(ctx, session, id, func(b *binding.Binding) { *b = startedBinding(*b, doc.Root(), result) })
}

// visit implements turn.Opener for one request for a turn.
type visit struct {
	f       *Feature
	address address
	trigger params.Trigger
	start   json.RawMessage // parameters for a session without a thread
	input   params.Input
	history []binding.HistoryMessage
}

// Open implements turn.Opener.
func (v *visit) Open(ctx context.Context) (turn.Session, error) {
	c, session, err := v.f.opened(ctx, v.address, v.start)
	if err != nil {
		return turn.Session{}, err
	}
	if wanted := stricter(v.start, v.f.o.Threads.Settings(c.thread.ID)); wanted != (settings{}) {
		if _, err := c.set(ctx, session, wanted); err != nil {
			return turn.Session{}, err
		}
	}
	return v.in(c), nil
}

// Replace implements turn.Opener.
func (v *visit) Replace(ctx context.Context) (turn.Session, error) {
	c, err := v.f.again(ctx, v.address)
	if err != nil {
		return turn.Session{}, err
	}
	return v.in(c), nil
}

// again gives a session a new thread with the binding's settings when Codex does not know its thread.
// For a thread without a session it returns an error.
func (f *Feature) again(ctx context.Context, a address) (*conversation, error) {
	a, err := f.resolved(ctx, a)
	if err != nil {
		return nil, err
	}
	if a.session == "" {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "codex does not know the thread %s, and it belongs to no session", a.thread)
	}
	b, err := f.o.Threads.Session(ctx, a.session)
	if err != nil {
		return nil, err
	}
	if f.o.Threads.Open(b.ThreadID) {
		// Codex may have unloaded the thread since and may still be able to resume it.
		if result, err := f.peer.CallAsClient(ctx, "thread/resume", map[string]any{"threadId": b.ThreadID}); err == nil {
			f.noteResumed(result)
			return f.conversation(b.ThreadID), nil
		} else if !turn.IsThreadGone(err) {
			return nil, err
		}
		f.forget(b.ThreadID)()
	}
	c, _, err := f.replaced(ctx, a.session, b, binding.ReasonThreadLost)
	return c, err
}

// replaced gives a session a new thread with the settings of its binding. The current policy judges
// the request. The binding also has the folder of a thread that was started without a cwd.
func (f *Feature) replaced(ctx context.Context, session string, b binding.Binding, reason binding.Reason) (*conversation, string, error) {
	defer f.o.Threads.Replace(session, b.ThreadID, reason)()
	return f.started(ctx, session, rpc.Encode(b.StartParams()), func(p any) (rpc.Value, error) { return f.peer.StartInAddedFolder(ctx, p) })
}

func (v *visit) in(c *conversation) turn.Session {
	return turn.Session{
		Thread: c.thread,
		Turn:   func(ctx context.Context) (json.RawMessage, error) { return c.turn(ctx, v.input, v.trigger, v.history) },
		Stuck:  c.markStuck,
	}
}

// markStuck records that a turn of the thread can't be interrupted, until that turn ends.
func (c *conversation) markStuck() string {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.stuck = true
	return "until it ends, a session goes on in a new thread, and a thread without a session waits"
}

// isStuck reports whether a turn of the thread can't be interrupted.
func (f *Feature) isStuck(thread string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.open[thread]
	return c != nil && c.stuck
}
