package store

import (
	"context"
	"fmt"

	"codex-bridge.example/bridge/decision"
)

// Append adds a decision to the log. When it returns nil, the decision is on disk. That takes one
// sync, 0.2 to 0.5 ms on ext4 on a virtual disk, and the time of the writers before it. After an
// error the caller must refuse the message; the log may have the decision all the same.
func (s *Store) Append(ctx context.Context, d decision.Record) error {
	e, err := decision.NewEntry(d)
	if err != nil {
		return err
	}
	appending, err := s.appending(e)
	if err != nil {
		return err
	}
	if err := s.updateAll(ctx, appending); err != nil {
		return fmt.Errorf("the decision can't be written to the log in %s: %w", s.location, err)
	}
	return nil
}
