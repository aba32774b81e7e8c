package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"codex-bridge.example/bridge/decision"
)

// Sealed is an entry in the form that a fleet log keeps, whatever members a decision has.
type Sealed struct {
	decision.Head
	Content []byte // the canonical JSON that Hash covers
}

// Shipping is how much of the log a fleet log has. The zero value of a time means never.
type Shipping struct {
	decision.Head // the last acknowledged entry
	Acknowledged  time.Time
	Error         string // of the last attempt; empty if it succeeded
	Failed        time.Time
}

// Chain returns the random id of the log, of 32 hexadecimal digits. It exists in SQLite only.
func (s *Store) Chain(ctx context.Context) (id string, err error) {
	if err = s.read.QueryRowContext(ctx, `SELECT id FROM chain`).Scan(&id); err != nil {
		return "", s.readError(err)
	}
	return id, nil
}

// NewChain gives the log another id, under which nothing is acknowledged.
func (s *Store) NewChain(ctx context.Context) error {
	err := s.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE chain SET id = lower(hex(randomblob(16)))`); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM shipping`)
		return err
	})
	if err != nil {
		return fmt.Errorf("the log in %s can't get another id: %w", s.location, err)
	}
	return nil
}

// SealedAfter returns the entries after a head, in order: at most count, and none after those that
// have size bytes together. A *BrokenError means that the log lacks the head, or that an entry does
// not follow the one before it.
func (s *Store) SealedAfter(ctx context.Context, head decision.Head, count, size int) ([]Sealed, error) {
	rows, err := s.rowsFrom(ctx, head.Seq, count+1, size)
	if err != nil {
		return nil, s.readError(err)
	}
	if head.Seq > 0 {
		switch {
		case len(rows) == 0 || rows[0].Seq != head.Seq:
			return nil, &decision.BrokenError{Seq: head.Seq, Problem: decision.Missing, Detail: "the fleet log has it"}
		case rows[0].Hash != head.Hash:
			return nil, &decision.BrokenError{Seq: head.Seq, Problem: decision.Changed, Detail: "the fleet log has it with the hash " + head.Hash}
		}
		rows = rows[1:]
	}
	all := make([]Sealed, 0, len(rows))
	for _, r := range rows {
		if err := s.checkLink(ctx, head, r); err != nil {
			return nil, err
		}
		content, err := r.Content()
		if err != nil {
			return nil, err
		}
		head = decision.Head{Seq: r.Seq, Hash: r.Hash}
		all = append(all, Sealed{head, content})
	}
	return all[:min(len(all), count)], nil
}

// rowsFrom reads at most count rows from a number on, until they have size bytes: a row may have half
// a megabyte.
func (s *Store) rowsFrom(ctx context.Context, seq int64, count, size int) ([]row, error) {
	columns, err := s.columns(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.read.QueryContext(ctx, fmt.Sprintf(`SELECT %s FROM decisions WHERE seq >= $1 ORDER BY seq LIMIT $2`, columns), seq, count)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []row
	for rows.Next() {
		var r row
		if err := r.scan(rows.Scan); err != nil {
			return nil, err
		}
		all = append(all, r)
		line, err := r.Line()
		if err != nil {
			return nil, err
		}
		if size -= len(line); size <= 0 && len(all) > 1 {
			break
		}
	}
	return all, rows.Err()
}

// Shipping returns how much of the log a fleet log has.
func (s *Store) Shipping(ctx context.Context, target string) (Shipping, error) {
	p := Shipping{Head: decision.NoHead}
	var tables int // none: a state that an older bridge wrote, opened read-only
	if err := s.read.QueryRowContext(ctx, s.hasTable, "shipping").Scan(&tables); err != nil || tables == 0 {
		return p, s.shippingError(err)
	}
	var acknowledged, failed string
	err := s.read.QueryRowContext(ctx, `SELECT seq, hash, acknowledged, error, failed FROM shipping WHERE target = $1`, target).
		Scan(&p.Seq, &p.Hash, &acknowledged, &p.Error, &failed)
	if errors.Is(err, sql.ErrNoRows) {
		return p, nil
	}
	if err == nil {
		p.Acknowledged, err = parseOptionalTime(acknowledged)
	}
	if err == nil {
		p.Failed, err = parseOptionalTime(failed)
	}
	return p, s.shippingError(err)
}

// SetShipping writes how much of the log a fleet log has.
func (s *Store) SetShipping(ctx context.Context, target string, p Shipping) error {
	_, err := s.exec(ctx, `INSERT INTO shipping (target, seq, hash, acknowledged, error, failed) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (target) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, acknowledged = excluded.acknowledged, error = excluded.error, failed = excluded.failed`,
		target, p.Seq, p.Hash, optionalTimeText(p.Acknowledged), decision.Truncate(p.Error), optionalTimeText(p.Failed))
	return s.shippingError(err)
}

// Waiting returns the number of entries after a head, and the time of the first.
func (s *Store) Waiting(ctx context.Context, head decision.Head) (n int64, since time.Time, err error) {
	var first string
	err = s.read.QueryRowContext(ctx, `SELECT count(*), coalesce(min(time), '') FROM decisions WHERE seq > $1`, head.Seq).Scan(&n, &first)
	if err != nil {
		return 0, time.Time{}, s.readError(err)
	}
	since, err = parseOptionalTime(first)
	return n, since, err
}

func (s *Store) shippingError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s can't keep what the fleet log has acknowledged: %w", s.location, s.describe(err))
}

func optionalTimeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeLayout)
}

func parseOptionalTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	return time.Parse(timeLayout, text)
}
