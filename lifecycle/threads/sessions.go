package threads

import (
	"context"

	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/lifecycle/params"
)

// Session makes this process the one that writes a session, and returns its binding; one
// without a thread for a session that has none.
func (f *Feature) Session(ctx context.Context, session string) (binding.Binding, error) {
	s, err := f.o.Store(ctx)
	if err != nil {
		return binding.Binding{}, err
	}
	if err := f.take(ctx, s, session); err != nil {
		return binding.Binding{}, err
	}
	_, b, err := f.bound(ctx, s, session)
	return b, err
}

// SessionOf is the session that a thread belongs to; "" none.
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

// ThreadOf returns the thread of a session; "" if it has none. Unlike Session, it takes the session
// from no other process.
func (f *Feature) ThreadOf(ctx context.Context, session string) (string, error) {
	b, err := f.stored(ctx, session)
	return b.ThreadID, err
}

// stored returns the binding of a session.
func (f *Feature) stored(ctx context.Context, session string) (binding.Binding, error) {
	s, err := f.o.Store(ctx)
	if err != nil {
		return binding.Binding{}, err
	}
	_, b, err := f.bound(ctx, s, session)
	return b, err
}

// OpenSession returns the session of an open thread; "" for a thread that belongs to none, or is
// not open. It reads memory only.
func (f *Feature) OpenSession(thread string) string {
	t, _ := f.known.get(thread)
	return t.session
}

// Open tells whether a thread is open in this Codex, as far as was seen here.
func (f *Feature) Open(thread string) bool {
	_, ok := f.known.get(thread)
	return ok
}

// Bound returns the binding of the session that a thread belongs to. For a thread of no
// session it has nothing but the thread's id.
func (f *Feature) Bound(ctx context.Context, thread string) (binding.Binding, error) {
	session, err := f.SessionOf(ctx, thread)
	if err != nil || session == "" {
		return binding.Binding{ThreadID: thread}, err
	}
	b, err := f.stored(ctx, session)
	if !b.IsOf(thread) { // the session has gone on to another
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

// All are the open threads.
func (f *Feature) All() []string { return f.known.all() }

// Resumed says that the thread of a session was resumed as the thread of that id, another
// one where the configuration has it forked.
func (f *Feature) Resumed(ctx context.Context, session, was, id string) error {
	mode := ""
	err := f.amend(ctx, session, was, func(kept *store.Binding, b *binding.Binding) {
		mode = kept.Mode
		if id != was {
			kept.Thread, kept.PreviousThread, b.ThreadID = id, was, id
		}
	})
	f.known.bind(id, session, params.Trigger(mode))
	return err
}

// Replace has a start of the session make another thread, for a reason, in the place of the one
// that it has; until that has started it keeps this one. It counts until undo.
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

// replaced is a thread that is not gone on with.
type replaced struct {
	thread string
	reason binding.Reason
}

// notThis is why a session's thread is not gone on with, whatever there is to decide; "" nothing.
func (f *Feature) notThis(session, thread string) binding.Reason {
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

// Change changes what a session is bound with, if it is still that thread's.
func (f *Feature) Change(ctx context.Context, session, thread string, change func(*binding.Binding)) error {
	return f.amend(ctx, session, thread, func(_ *store.Binding, b *binding.Binding) { change(b) })
}
