package threads

import (
	"context"

	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/lifecycle/params"
)

// Session makes this process the writer of a session, and returns its binding, which has no thread if the session
// has none.
func (f *Feature) Session(ctx context.Context, session string) (binding.Binding, error) {
	s, err := f.o.Store(ctx)
	if err != nil {
		return binding.Binding{}, err
	}
	if err := f.acquire(ctx, s, session); err != nil {
		return binding.Binding{}, err
	}
	_, b, err := f.readBinding(ctx, s, session)
	return b, err
}

// SessionOf returns the session of a thread; "" if it has none.
func (f *Feature) SessionOf(ctx context.Context, thread string) (string, error) {
	if t, ok := f.known.get(thread); ok && t.session != "" {
		return t.session, nil
	}
	s, err := f.o.Store(ctx)
	if err != nil {
		return "", err
	}
	b, _, err := s.BindingByThread(ctx, thread)
	return b.Session, err
}

// ThreadOf returns the thread of a session; "" if it has none. Unlike Session, it acquires nothing.
func (f *Feature) ThreadOf(ctx context.Context, session string) (string, error) {
	b, err := f.storedBinding(ctx, session)
	return b.ThreadID, err
}

// storedBinding returns the binding of a session.
func (f *Feature) storedBinding(ctx context.Context, session string) (binding.Binding, error) {
	s, err := f.o.Store(ctx)
	if err != nil {
		return binding.Binding{}, err
	}
	_, b, err := f.readBinding(ctx, s, session)
	return b, err
}

// OpenSession returns the session of an open thread; "" if it has none or is not open. It reads memory only.
func (f *Feature) OpenSession(thread string) string {
	t, _ := f.known.get(thread)
	return t.session
}

// Open reports whether this client has opened a thread that Codex has not unloaded.
func (f *Feature) Open(thread string) bool {
	_, ok := f.known.get(thread)
	return ok
}

// Bound returns the binding of a thread's session. For a thread without a session, it has only the thread's id.
func (f *Feature) Bound(ctx context.Context, thread string) (binding.Binding, error) {
	session, err := f.SessionOf(ctx, thread)
	if err != nil || session == "" {
		return binding.Binding{ThreadID: thread}, err
	}
	b, err := f.storedBinding(ctx, session)
	if !b.IsOf(thread) { // the session has another thread
		b = binding.Binding{ThreadID: thread}
	}
	return b, err
}

// Settings are the last settings that Codex sent for an open thread; "" is unknown.
type Settings struct {
	Cwd, Model, Effort string
	Approval           string           // "" if it is no word, or unknown
	Sandbox            string           // the mode; "" if it has none, or unknown
	Excluded           setting.Excluded // by the last workspace-write, or by the request that opened the thread
}

// Settings returns the settings of an open thread.
func (f *Feature) Settings(thread string) Settings {
	t, _ := f.known.get(thread)
	return Settings{t.cwd, t.model, t.effort, t.approval, t.sandbox, t.excluded}
}

// Fresh reports whether a thread was started for a session, and no turn has run in it.
func (f *Feature) Fresh(thread string) bool {
	t, _ := f.known.get(thread)
	return t.fresh
}

// All returns the ids of the open threads.
func (f *Feature) All() []string { return f.known.all() }

// Resumed records that the thread of a session was resumed as the thread id, which differs after a fork.
func (f *Feature) Resumed(ctx context.Context, session, was, id string) error {
	mode := ""
	err := f.updateBinding(ctx, session, was, func(row *store.Binding, b *binding.Binding) {
		mode = row.Mode
		if id != was {
			row.Thread, row.PreviousThread, b.ThreadID = id, was, id
		}
	})
	f.known.bind(id, session, params.Trigger(mode))
	return err
}

// Replace makes the next thread/start of a session start a new thread, with a reason. The session keeps its
// thread until the new one has started. undo cancels it.
func (f *Feature) Replace(session, thread string, reason binding.Reason) (undo func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.replaced[session] = replaced{thread, reason}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.replaced, session)
	}
}

// replaced is a thread that a new one replaces.
type replaced struct {
	thread string
	reason binding.Reason
}

// replacementReason returns the reason of Replace for a session's thread; "" if there is none.
func (f *Feature) replacementReason(session, thread string) binding.Reason {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.replaced[session]; thread != "" && r.thread == thread {
		return r.reason
	}
	return ""
}

// TriggerInstructions returns the configured instructions to the model for turns by a trigger.
func (f *Feature) TriggerInstructions() params.TriggerInstructions {
	t := f.o.Thread()
	return params.TriggerInstructions{Cron: t.CronInstructions, Heartbeat: t.HeartbeatInstructions}
}

// Change changes the binding of a session if it still has that thread.
func (f *Feature) Change(ctx context.Context, session, thread string, change func(*binding.Binding)) error {
	return f.updateBinding(ctx, session, thread, func(_ *store.Binding, b *binding.Binding) { change(b) })
}
