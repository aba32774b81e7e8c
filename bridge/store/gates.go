package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// SetGate records whether the bridge asks about each command of a thread in Codex's place.
func (s *Store) SetGate(ctx context.Context, thread string, gated bool) error {
	_, err := s.exec(ctx, `INSERT INTO gates (thread, gated) VALUES ($1, $2) ON CONFLICT (thread) DO UPDATE SET gated = excluded.gated`, thread, gated)
	if err != nil {
		return fmt.Errorf("whether the bridge asks about the commands of a thread can't be written in %s: %w", s.location, err)
	}
	return nil
}

// Gate returns what SetGate has recorded of a thread.
func (s *Store) Gate(ctx context.Context, thread string) (gated, found bool, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT gated FROM gates WHERE thread = $1`, thread).Scan(&gated)
	if errors.Is(err, sql.ErrNoRows) {
		return false, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("whether the bridge asks about the commands of a thread can't be read in %s: %w", s.location, s.describe(err))
	}
	return gated, true, nil
}
