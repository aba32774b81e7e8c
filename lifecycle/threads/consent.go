package threads

import (
	"context"
	"fmt"

	"codex-bridge/lifecycle/binding"
)

// Plugins returns the apps that the host of a session has named for its thread, with their permissions.
// It returns nil for a thread without a session, and for one whose host has sent no bridge.plugins.
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
