package threads

import (
	"context"
	"fmt"

	"codex-bridge/lifecycle/binding"
)

// Plugins returns which apps a session's thread was given by its host, and what they may do:
// nil for a thread that is no session's, and for one whose host has said nothing of plugins.
func (f *Feature) Plugins(ctx context.Context, thread string) (*binding.PluginPolicy, error) {
	open, ok := f.known.get(thread)
	if !ok || open.session == "" {
		return nil, nil
	}
	s, err := f.o.Store(ctx)
	if err != nil {
		return nil, err
	}
	kept, found, err := s.BindingOf(ctx, open.session)
	if err != nil || !found {
		return nil, err
	}
	b, _, err := binding.Read([]byte(kept.Record), open.session, f.options())
	if err != nil {
		return nil, fmt.Errorf("the binding of the session %s: %w", open.session, err)
	}
	if b.ThreadID != thread {
		return nil, nil
	}
	return b.PluginPolicy, nil
}
