package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// SetGate records of a thread whether the bridge asks about each of its commands in Codex's place. known is
// a folder whose project Codex alone would know by the thread, or "". Once recorded, the folder stays. roots are
// the roots that Codex alone would give the thread, as the caller writes them, or "", which leaves the recorded ones.
func (s *Store) SetGate(ctx context.Context, thread string, gated bool, known, roots string) error {
	_, err := s.exec(ctx, `INSERT INTO gates (thread, gated, known, roots) VALUES ($1, $2, $3, $4)
		ON CONFLICT (thread) DO UPDATE SET gated = excluded.gated, known = CASE gates.known WHEN '' THEN excluded.known ELSE gates.known END,
		roots = CASE excluded.roots WHEN '' THEN gates.roots ELSE excluded.roots END`, thread, gated, known, roots)
	if err != nil {
		return fmt.Errorf("whether the bridge asks about the commands of a thread can't be written in %s: %w", s.location, err)
	}
	return nil
}

// Gate returns what SetGate has recorded of a thread.
func (s *Store) Gate(ctx context.Context, thread string) (gated bool, known, roots string, found bool, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT gated, known, roots FROM gates WHERE thread = $1`, thread).Scan(&gated, &known, &roots)
	if errors.Is(err, sql.ErrNoRows) {
		return false, "", "", false, nil
	}
	if err != nil {
		return false, "", "", false, fmt.Errorf("whether the bridge asks about the commands of a thread can't be read in %s: %w", s.location, s.describe(err))
	}
	return gated, known, roots, true, nil
}

// DeleteGate removes what SetGate has recorded of a thread.
func (s *Store) DeleteGate(ctx context.Context, thread string) error {
	if _, err := s.exec(ctx, `DELETE FROM gates WHERE thread = $1`, thread); err != nil {
		return fmt.Errorf("whether the bridge asks about the commands of a thread can't be removed in %s: %w", s.location, err)
	}
	return nil
}
