package decisionlog

import (
	"context"
	"errors"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
)

// ReadState calls read with the configured state, opened read-only. It returns
// store.ErrNone if there is no state yet.
func ReadState(read func(context.Context, *store.Store) error) error {
	cfg, err := configured.Load()
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := OpenState(ctx, cfg, true)
	if err != nil {
		return err
	}
	return errors.Join(read(ctx, s), s.Close())
}

// OpenState opens the database of the configuration. The caller closes it.
func OpenState(ctx context.Context, cfg *config.Config, readOnly bool) (*store.Store, error) {
	o := store.Options{URL: cfg.Store.URL, ReadOnly: readOnly}
	if o.URL == "" {
		var err error
		if o.Folder, err = statefolder.Path(); err != nil {
			return nil, err
		}
	}
	return store.Open(ctx, o)
}
