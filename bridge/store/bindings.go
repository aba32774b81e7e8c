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

// bindingsSince is the first version of the schema that has bindings. A store that is
// only read may be older: it has none.
const bindingsSince = 3

// PutBinding keeps the thread of a session in place of the one that it had.
func (s *Store) PutBinding(ctx context.Context, b Binding) error {
	for _, text := range []string{b.Session, b.Thread, b.Record, b.Action, b.Reason, b.Before, b.Mode} {
		// A key that was cut would be another session's.
		if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
			return fmt.Errorf("the binding of a session can't be kept in %s: it has a text that is no UTF-8, or a NUL in it", s.where)
		}
	}
	updated := b.Updated.UTC().Truncate(time.Microsecond).Format(stampForm)
	err := s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO bindings (`+bindingColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
			ON CONFLICT (session) DO UPDATE SET thread = excluded.thread, record = excluded.record,
			action = excluded.action, reason = excluded.reason, before = excluded.before, mode = excluded.mode, updated = excluded.updated`,
			b.Session, b.Thread, b.Record, b.Action, b.Reason, b.Before, b.Mode, updated)
		return err
	})
	if err != nil {
		return fmt.Errorf("the binding of a session can't be kept in %s: %w", s.where, err)
	}
	return nil
}

// ChangeBinding is PutBinding for a session whose thread is still the one given, and
// tells whether it was.
func (s *Store) ChangeBinding(ctx context.Context, b Binding, thread string) (bool, error) {
	updated := b.Updated.UTC().Truncate(time.Microsecond).Format(stampForm)
	var n int64
	err := s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `UPDATE bindings SET thread = $1, record = $2, action = $3, reason = $4, before = $5, mode = $6, updated = $7
			WHERE session = $8 AND thread = $9`, b.Thread, b.Record, b.Action, b.Reason, b.Before, b.Mode, updated, b.Session, thread)
		if err != nil {
			return err
		}
		n, err = result.RowsAffected()
		return err
	})
	if err != nil {
		return false, fmt.Errorf("the binding of a session can't be changed in %s: %w", s.where, err)
	}
	return n > 0, nil
}

// BindingOf is the binding of a session.
func (s *Store) BindingOf(ctx context.Context, session string) (b Binding, found bool, err error) {
	return s.binding(ctx, `SELECT `+bindingColumns+` FROM bindings WHERE session = $1`, session)
}

// BindingTo is the binding to a thread, the newest where there are several.
func (s *Store) BindingTo(ctx context.Context, thread string) (b Binding, found bool, err error) {
	return s.binding(ctx, `SELECT `+bindingColumns+` FROM bindings WHERE thread = $1 ORDER BY updated DESC, session LIMIT 1`, thread)
}

func (s *Store) binding(ctx context.Context, query, of string) (b Binding, found bool, err error) {
	if s.version < bindingsSince {
		return Binding{}, false, nil
	}
	err = b.from(s.read.QueryRowContext(ctx, query, of).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Binding{}, false, nil
	}
	if err != nil {
		return Binding{}, false, fmt.Errorf("the bindings in %s can't be read: %w", s.where, s.failed(err))
	}
	return b, true, nil
}

// Bindings are at most that many of them, those that changed last first.
func (s *Store) Bindings(ctx context.Context, most int) ([]Binding, error) {
	if s.version < bindingsSince {
		return nil, nil
	}
	all, err := s.bindings(ctx, most)
	if err != nil {
		return nil, fmt.Errorf("the bindings in %s can't be read: %w", s.where, s.failed(err))
	}
	return all, nil
}

func (s *Store) bindings(ctx context.Context, most int) ([]Binding, error) {
	rows, err := s.read.QueryContext(ctx, fmt.Sprintf(`SELECT `+bindingColumns+` FROM bindings ORDER BY updated DESC, session LIMIT %d`, most))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []Binding
	for rows.Next() {
		var b Binding
		if err := b.from(rows.Scan); err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, rows.Err()
}

// CountBindings is the number of sessions that have a thread, and of records that were
// set aside.
func (s *Store) CountBindings(ctx context.Context) (bound, aside int, err error) {
	if s.version < bindingsSince {
		return 0, 0, nil
	}
	err = s.read.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM bindings WHERE thread <> ''), (SELECT count(*) FROM bindings_aside)`).Scan(&bound, &aside)
	if err != nil {
		return 0, 0, fmt.Errorf("the bindings in %s can't be read: %w", s.where, s.failed(err))
	}
	return bound, aside, nil
}

// ClearBinding takes the binding of a session away, and tells whether it was there. With
// a thread only when it is that thread's: a session that has gone on to another stays.
func (s *Store) ClearBinding(ctx context.Context, session, thread string) (bool, error) {
	var n int64
	err := s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `DELETE FROM bindings WHERE session = $1 AND ($2 = '' OR thread = $3)`, session, thread, thread)
		if err != nil {
			return err
		}
		n, err = result.RowsAffected()
		return err
	})
	if err != nil {
		return false, fmt.Errorf("the binding of a session can't be cleared in %s: %w", s.where, err)
	}
	return n > 0, nil
}

// SetAside keeps a record that can't be read where nobody takes it for a binding.
func (s *Store) SetAside(ctx context.Context, b Binding, at time.Time) error {
	err := s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO bindings_aside (seq, session, record, moved)
			SELECT coalesce(max(seq), 0) + 1, $1, $2, $3 FROM bindings_aside`, b.Session, b.Record, at.UTC().Format(stampForm)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM bindings WHERE session = $1 AND record = $2`, b.Session, b.Record)
		return err
	})
	if err != nil {
		return fmt.Errorf("a binding that can't be read can't be set aside in %s: %w", s.where, err)
	}
	return nil
}
