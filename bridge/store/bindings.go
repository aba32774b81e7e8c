package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Binding is the stored thread of a session. Record holds the facts about the thread that the
// caller needs; the store does not read it.
type Binding struct {
	Session string
	Thread  string
	Record  string
	// Action and Reason describe the last decision about the session.
	Action, Reason, PreviousThread string
	Mode                           string    // of its last turn
	Updated                        time.Time // kept in microseconds
}

const bindingColumns = `session, thread, record, action, reason, previous_thread, mode, updated`

func (b *Binding) scan(scan func(...any) error) error {
	var updated string
	if err := scan(&b.Session, &b.Thread, &b.Record, &b.Action, &b.Reason, &b.PreviousThread, &b.Mode, &updated); err != nil {
		return err
	}
	var err error
	b.Updated, err = time.Parse(timeLayout, updated)
	return err
}

// PutBinding writes the binding of a session and replaces an earlier one.
func (s *Store) PutBinding(ctx context.Context, b Binding) error {
	for _, text := range []string{b.Session, b.Thread, b.Record, b.Action, b.Reason, b.PreviousThread, b.Mode} {
		// A truncated key could be the key of another session.
		if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
			return fmt.Errorf("the binding of a session can't be written in %s: a text is not UTF-8 or has a NUL", s.location)
		}
	}
	updated := b.Updated.UTC().Truncate(time.Microsecond).Format(timeLayout)
	_, err := s.exec(ctx, `INSERT INTO bindings (`+bindingColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (session) DO UPDATE SET thread = excluded.thread, record = excluded.record,
		action = excluded.action, reason = excluded.reason, previous_thread = excluded.previous_thread, mode = excluded.mode, updated = excluded.updated`,
		b.Session, b.Thread, b.Record, b.Action, b.Reason, b.PreviousThread, b.Mode, updated)
	if err != nil {
		return fmt.Errorf("the binding of a session can't be written in %s: %w", s.location, err)
	}
	return nil
}

// ReplaceBinding replaces the binding of a session if its thread is still the given one. It reports
// whether it was.
func (s *Store) ReplaceBinding(ctx context.Context, b Binding, thread string) (bool, error) {
	updated := b.Updated.UTC().Truncate(time.Microsecond).Format(timeLayout)
	n, err := s.exec(ctx, `UPDATE bindings SET thread = $1, record = $2, action = $3, reason = $4, previous_thread = $5, mode = $6, updated = $7
			WHERE session = $8 AND thread = $9`, b.Thread, b.Record, b.Action, b.Reason, b.PreviousThread, b.Mode, updated, b.Session, thread)
	if err != nil {
		return false, fmt.Errorf("the binding of a session can't be written in %s: %w", s.location, err)
	}
	return n > 0, nil
}

// BindingBySession returns the binding of a session.
func (s *Store) BindingBySession(ctx context.Context, session string) (b Binding, found bool, err error) {
	return s.queryBinding(ctx, `SELECT `+bindingColumns+` FROM bindings WHERE session = $1`, session)
}

// BindingByThread returns the binding to a thread: the newest if there are several.
func (s *Store) BindingByThread(ctx context.Context, thread string) (b Binding, found bool, err error) {
	return s.queryBinding(ctx, `SELECT `+bindingColumns+` FROM bindings WHERE thread = $1 ORDER BY updated DESC, session LIMIT 1`, thread)
}

func (s *Store) queryBinding(ctx context.Context, query, of string) (b Binding, found bool, err error) {
	err = b.scan(s.read.QueryRowContext(ctx, query, of).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Binding{}, false, nil
	}
	if err != nil {
		return Binding{}, false, fmt.Errorf("the bindings in %s can't be read: %w", s.location, s.describe(err))
	}
	return b, true, nil
}

// BindingsAfter returns at most limit bindings after one in the order of Bindings, which may have changed or
// been deleted since.
func (s *Store) BindingsAfter(ctx context.Context, updated time.Time, session string, limit int) ([]Binding, error) {
	at := updated.UTC().Truncate(time.Microsecond).Format(timeLayout)
	return s.queryBindings(ctx, `WHERE updated < $1 OR updated = $2 AND session > $3`, limit, at, at, session)
}

// Bindings returns at most limit bindings, the last changed first.
func (s *Store) Bindings(ctx context.Context, limit int) ([]Binding, error) {
	return s.queryBindings(ctx, "", limit)
}

func (s *Store) queryBindings(ctx context.Context, where string, limit int, args ...any) ([]Binding, error) {
	query := fmt.Sprintf(`SELECT `+bindingColumns+` FROM bindings %s ORDER BY updated DESC, session LIMIT %d`, where, limit)
	all, err := queryAll(ctx, s.read, (*Binding).scan, query, args...)
	if err != nil {
		return nil, fmt.Errorf("the bindings in %s can't be read: %w", s.location, s.describe(err))
	}
	return all, nil
}

// CountBindings returns the number of sessions that have a thread, and the number of unreadable
// bindings.
func (s *Store) CountBindings(ctx context.Context) (bound, aside int, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM bindings WHERE thread <> ''), (SELECT count(*) FROM unreadable_bindings)`).Scan(&bound, &aside)
	if err != nil {
		return 0, 0, fmt.Errorf("the bindings in %s can't be read: %w", s.location, s.describe(err))
	}
	return bound, aside, nil
}

// DeleteBinding deletes the binding of a session and reports whether there was one. If thread is
// not empty, it deletes only a binding to that thread.
func (s *Store) DeleteBinding(ctx context.Context, session, thread string) (bool, error) {
	n, err := s.exec(ctx, `DELETE FROM bindings WHERE session = $1 AND ($2 = '' OR thread = $3)`, session, thread, thread)
	if err != nil {
		return false, fmt.Errorf("the binding of a session can't be deleted in %s: %w", s.location, err)
	}
	return n > 0, nil
}

// MoveUnreadableBinding moves a binding whose record can't be parsed to the table
// unreadable_bindings.
func (s *Store) MoveUnreadableBinding(ctx context.Context, b Binding, at time.Time) error {
	err := s.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO unreadable_bindings (seq, session, record, moved)
			SELECT coalesce(max(seq), 0) + 1, $1, $2, $3 FROM unreadable_bindings`, b.Session, b.Record, at.UTC().Format(timeLayout)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM bindings WHERE session = $1 AND record = $2`, b.Session, b.Record)
		return err
	})
	if err != nil {
		return fmt.Errorf("an unreadable binding can't be moved in %s: %w", s.location, err)
	}
	return nil
}
