package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"
)

// HeldError means that another process has the lease of the session, or, where Holder.Taken is zero, another client of
// this process.
type HeldError struct {
	Session string
	Holder  Holder
}

func (e *HeldError) Error() string {
	if e.Holder.Taken.IsZero() {
		return fmt.Sprintf("the session is in use by another client of %s", e.Holder)
	}
	return fmt.Sprintf("the session is in use by %s, since %s", e.Holder, e.Holder.Taken.Format(time.RFC3339))
}

// AcquireLease makes h the only process that may write a session's thread. A *HeldError names the
// process that has the lease. A lease of a process that has ended, by a crash or a reboot, does not
// count. The bridge can't check a process on another machine: its lease stays until ReleaseLease or
// DeleteLease.
func (s *Store) AcquireLease(ctx context.Context, session string, h Holder, at time.Time) error {
	held, found, err := s.LeaseHolder(ctx, session)
	if err != nil || found && held.isSameProcess(h) {
		return err
	}
	if found && !held.hasEnded(h) { // without locking the database
		return &HeldError{session, held}
	}
	err = s.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		held, found, err := queryHolder(ctx, tx, session)
		if err != nil {
			return err
		}
		if found && !held.isSameProcess(h) && !held.hasEnded(h) {
			return &HeldError{session, held}
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO leases (session, host, pid, started, taken) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (session) DO UPDATE SET host = excluded.host, pid = excluded.pid, started = excluded.started, taken = excluded.taken`,
			session, h.Host, h.PID, h.Started, at.UTC().Truncate(time.Microsecond).Format(timeLayout))
		return err
	})
	var other *HeldError
	if errors.As(err, &other) {
		return other
	}
	if err != nil {
		return fmt.Errorf("the lease of a session in %s can't be written: %w", s.location, err)
	}
	return nil
}

// LeaseHolder returns the process that has the lease of a session, even if it has ended.
func (s *Store) LeaseHolder(ctx context.Context, session string) (h Holder, found bool, err error) {
	h, found, err = queryHolder(ctx, s.read, session)
	if err != nil {
		return Holder{}, false, fmt.Errorf("the lease of a session in %s can't be read: %w", s.location, s.describe(err))
	}
	return h, found, nil
}

func queryHolder(ctx context.Context, q querier, session string) (h Holder, found bool, err error) {
	var taken string
	err = q.QueryRowContext(ctx, `SELECT host, pid, started, taken FROM leases WHERE session = $1`, session).Scan(&h.Host, &h.PID, &h.Started, &taken)
	if errors.Is(err, sql.ErrNoRows) {
		return Holder{}, false, nil
	}
	if err == nil {
		h.Taken, err = time.Parse(timeLayout, taken)
	}
	return h, err == nil, err
}

// ActiveLeaseHolder returns the process that has the lease of a session, unless it has ended. here
// is the calling process.
func (s *Store) ActiveLeaseHolder(ctx context.Context, session string, here Holder) (h Holder, found bool, err error) {
	h, found, err = s.LeaseHolder(ctx, session)
	return h, found && !h.hasEnded(here), err
}

const releaseLease = `DELETE FROM leases WHERE session = $1 AND host = $2 AND pid = $3 AND started = $4`

// ReleaseLease deletes the lease of a session if h has it.
func (s *Store) ReleaseLease(ctx context.Context, session string, h Holder) error {
	return s.deleteLeases(ctx, releaseLease, session, h.Host, h.PID, h.Started)
}

// maxReleased is how many leases one transaction deletes: other writers wait meanwhile.
const maxReleased = 1000

// ReleaseLeases is ReleaseLease for many sessions.
func (s *Store) ReleaseLeases(ctx context.Context, sessions []string, h Holder) error {
	for part := range slices.Chunk(sessions, maxReleased) {
		statements := make([]statement, len(part))
		for i, session := range part {
			statements[i] = statement{releaseLease, []any{session, h.Host, h.PID, h.Started}}
		}
		if err := s.updateAll(ctx, statements...); err != nil {
			return fmt.Errorf("%d leases in %s can't be deleted: %w", len(part), s.location, err)
		}
	}
	return nil
}

// DeleteLease deletes the lease of a session, of any process.
func (s *Store) DeleteLease(ctx context.Context, session string) error {
	return s.deleteLeases(ctx, `DELETE FROM leases WHERE session = $1`, session)
}

func (s *Store) deleteLeases(ctx context.Context, statement string, args ...any) error {
	_, err := s.exec(ctx, statement, args...)
	if err != nil {
		return fmt.Errorf("a lease in %s can't be deleted: %w", s.location, err)
	}
	return nil
}
