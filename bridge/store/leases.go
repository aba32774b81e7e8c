package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// HeldError means that another process writes the session's thread.
type HeldError struct {
	Session string
	Holder  Holder
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("the session is in use by %s, since %s", e.Holder, e.Holder.Taken.Format(time.RFC3339))
}

// Take makes h the one writer of a session's thread. A *HeldError names the process that
// is. One that has ended, by a crash or with the machine, is none; of a process on
// another machine that can't be known, and it stays until it is cleared.
func (s *Store) Take(ctx context.Context, session string, h Holder, at time.Time) error {
	held, found, err := s.HolderOf(ctx, session)
	if err != nil || found && held.same(h) {
		return err
	}
	if found && !held.gone(h) { // no need for the lock of the database
		return &HeldError{session, held}
	}
	err = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		held, found, err := holder(ctx, tx, session)
		if err != nil {
			return err
		}
		if found && !held.same(h) && !held.gone(h) {
			return &HeldError{session, held}
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO leases (session, host, pid, started, taken) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (session) DO UPDATE SET host = excluded.host, pid = excluded.pid, started = excluded.started, taken = excluded.taken`,
			session, h.Host, h.PID, h.Started, at.UTC().Truncate(time.Microsecond).Format(stampForm))
		return err
	})
	var other *HeldError
	if errors.As(err, &other) {
		return other
	}
	if err != nil {
		return fmt.Errorf("a session can't be taken in %s: %w", s.where, err)
	}
	return nil
}

// HolderOf is who has taken a session, whether it still runs or not.
func (s *Store) HolderOf(ctx context.Context, session string) (h Holder, found bool, err error) {
	if s.version < bindingsSince {
		return Holder{}, false, nil
	}
	h, found, err = holder(ctx, s.read, session)
	if err != nil {
		return Holder{}, false, fmt.Errorf("who holds a session in %s can't be read: %w", s.where, s.failed(err))
	}
	return h, found, nil
}

func holder(ctx context.Context, q querier, session string) (h Holder, found bool, err error) {
	var taken string
	err = q.QueryRowContext(ctx, `SELECT host, pid, started, taken FROM leases WHERE session = $1`, session).Scan(&h.Host, &h.PID, &h.Started, &taken)
	if errors.Is(err, sql.ErrNoRows) {
		return Holder{}, false, nil
	}
	if err == nil {
		h.Taken, err = time.Parse(stampForm, taken)
	}
	return h, err == nil, err
}

// Holding tells who holds a session as far as another process would have to mind: found is
// false when nobody does, or one who has ended.
func (s *Store) Holding(ctx context.Context, session string, here Holder) (h Holder, found bool, err error) {
	h, found, err = s.HolderOf(ctx, session)
	return h, found && !h.gone(here), err
}

// Release gives a session back, if h has it.
func (s *Store) Release(ctx context.Context, session string, h Holder) error {
	return s.release(ctx, `DELETE FROM leases WHERE session = $1 AND host = $2 AND pid = $3 AND started = $4`, session, h.Host, h.PID, h.Started)
}

// ReleaseAll gives all back that h has.
func (s *Store) ReleaseAll(ctx context.Context, h Holder) error {
	return s.release(ctx, `DELETE FROM leases WHERE host = $1 AND pid = $2 AND started = $3`, h.Host, h.PID, h.Started)
}

// Force takes a session from whoever has it.
func (s *Store) Force(ctx context.Context, session string) error {
	return s.release(ctx, `DELETE FROM leases WHERE session = $1`, session)
}

func (s *Store) release(ctx context.Context, statement string, args ...any) error {
	err := s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, statement, args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("a session can't be given back in %s: %w", s.where, err)
	}
	return nil
}
