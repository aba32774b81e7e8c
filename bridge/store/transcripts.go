package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// transcriptsSince is the first version of the schema that has transcripts. A store that
// is only read may be older: it has none.
const transcriptsSince = 4

// searchSince is the first version whose index Find can search.
const searchSince = 5

// purgeAtOnce is how many records go in one transaction, so that nobody waits long.
const purgeAtOnce = 500

// Keep keeps records in the order they come in, all or none of them. One that is there
// already is left as it is; Keep tells how many were not. Each is numbered among those of
// its kind in its turn.
func (s *Store) Keep(ctx context.Context, records []Record) (int, error) {
	n := 0
	err := s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		n = 0
		var seq int64
		if err := tx.QueryRowContext(ctx, `SELECT coalesce(max(seq), 0) FROM transcript`).Scan(&seq); err != nil {
			return err
		}
		insert, err := tx.PrepareContext(ctx, s.keepRecord)
		if err != nil {
			return err
		}
		defer func() { _ = insert.Close() }()
		for _, r := range records {
			r = r.clean()
			kept, err := s.keep(ctx, insert, seq+1, r)
			if err != nil {
				return err
			}
			if kept {
				seq++
				n++
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("a transcript can't be kept in %s: %w", s.where, err)
	}
	return n, nil
}

func (s *Store) keep(ctx context.Context, insert *sql.Stmt, seq int64, r Record) (bool, error) {
	replayed := 0
	if r.Replayed {
		replayed = 1
	}
	args := []any{seq, r.Thread, r.Turn, string(r.Kind), r.Item, r.Name, r.State, r.Time.Format(stampForm), r.Text, r.digest(), replayed}
	result, err := insert.ExecContext(ctx, args...)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// Records are those of a thread, in the order in which they were kept; of a turn, where
// one is named.
func (s *Store) Records(ctx context.Context, thread, turn string) ([]Record, error) {
	if s.version < transcriptsSince {
		return nil, nil
	}
	rows, err := s.read.QueryContext(ctx, `SELECT `+recordColumns+` FROM transcript WHERE thread = $1 AND ($2 = '' OR turn = $3) ORDER BY seq`, thread, turn, turn)
	if err != nil {
		return nil, fmt.Errorf("the transcripts in %s can't be read: %w", s.where, s.failed(err))
	}
	defer func() { _ = rows.Close() }()
	var all []Record
	for rows.Next() {
		var r Record
		if err := r.from(rows.Scan); err != nil {
			return nil, fmt.Errorf("the transcripts in %s can't be read: %w", s.where, s.failed(err))
		}
		all = append(all, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("the transcripts in %s can't be read: %w", s.where, s.failed(err))
	}
	return all, nil
}

// CountRecords is how many records there are.
func (s *Store) CountRecords(ctx context.Context) (int64, error) {
	if s.version < transcriptsSince {
		return 0, nil
	}
	var n int64
	if err := s.read.QueryRowContext(ctx, `SELECT count(*) FROM transcript`).Scan(&n); err != nil {
		return 0, fmt.Errorf("the transcripts in %s can't be read: %w", s.where, s.failed(err))
	}
	return n, nil
}

// Purge takes away the records of before a time, and tells how many they were. It goes on
// in small steps; what was done before an error stays done.
func (s *Store) Purge(ctx context.Context, before time.Time) (int64, error) {
	stamp := before.UTC().Format(stampForm)
	var all int64
	for {
		var n int64
		err := s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
			result, err := tx.ExecContext(ctx, `DELETE FROM transcript WHERE seq IN (SELECT seq FROM transcript WHERE time < $1 ORDER BY time, seq LIMIT $2)`, stamp, purgeAtOnce)
			if err != nil {
				return err
			}
			n, err = result.RowsAffected()
			return err
		})
		if err != nil {
			return all, fmt.Errorf("old transcripts in %s can't be taken away: %w", s.where, err)
		}
		if all += n; n < purgeAtOnce {
			return all, nil
		}
	}
}
