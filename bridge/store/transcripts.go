package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// The statements that add a record.
const (
	// A stored record equals a new one with the same item id, or a replayed one with the same text.
	unlessRecordExists = ` WHERE NOT EXISTS (SELECT 1 FROM transcript WHERE thread = $2 AND turn = $3 AND kind = $4 AND name = $6
		AND (item = $5 AND $5 <> '' OR $11 = 1 AND digest = $10))`
	nextRecordIndex = `(SELECT coalesce(max(idx) + 1, 0) FROM transcript WHERE thread = $2 AND turn = $3 AND kind = $4)`

	sqliteInsertRecord = `INSERT INTO transcript (seq, thread, turn, kind, idx, item, name, state, time, text, digest)
		SELECT $1, $2, $3, $4, ` + nextRecordIndex + `, $5, $6, $7, $8, $9, $10` + unlessRecordExists

	postgresInsertRecord = `INSERT INTO transcript (seq, thread, turn, kind, idx, item, name, state, time, text, digest)
		SELECT $1::bigint, $2::text, $3::text, $4::text, ` + nextRecordIndex + `, $5::text, $6::text, $7::text, $8::text, $9::text, $10::text` + unlessRecordExists
)

// purgeBatch is the number of records deleted in one transaction, so that other writers don't wait
// long.
const purgeBatch = 500

// AddRecords writes all records or none, in their order. It skips records that are already stored
// and returns the number of new ones. It numbers each record among those of its kind in its turn.
func (s *Store) AddRecords(ctx context.Context, records []Record) (int, error) {
	n := 0
	err := s.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		n = 0
		var seq int64
		if err := tx.QueryRowContext(ctx, `SELECT coalesce(max(seq), 0) FROM transcript`).Scan(&seq); err != nil {
			return err
		}
		insert, err := tx.PrepareContext(ctx, s.insertRecord)
		if err != nil {
			return err
		}
		defer func() { _ = insert.Close() }()
		for _, r := range records {
			r = r.clean()
			kept, err := s.addRecord(ctx, insert, seq+1, r)
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
		return 0, fmt.Errorf("a transcript can't be written in %s: %w", s.location, err)
	}
	return n, nil
}

func (s *Store) addRecord(ctx context.Context, insert *sql.Stmt, seq int64, r Record) (bool, error) {
	replayed := 0
	if r.Replayed {
		replayed = 1
	}
	args := []any{seq, r.Thread, r.Turn, string(r.Kind), r.Item, r.Name, r.State, r.Time.Format(timeLayout), r.Text, r.digest(), replayed}
	result, err := insert.ExecContext(ctx, args...)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// Records returns the records of a thread in the order of AddRecords. If turn is not empty, it
// returns only those of that turn.
func (s *Store) Records(ctx context.Context, thread, turn string) ([]Record, error) {
	scan := func(r *Record, scan func(...any) error) error { return r.scan(scan) }
	all, err := queryAll(ctx, s.read, scan, `SELECT `+recordColumns+` FROM transcript WHERE thread = $1 AND ($2 = '' OR turn = $3) ORDER BY seq`, thread, turn, turn)
	if err != nil {
		return nil, fmt.Errorf("the transcripts in %s can't be read: %w", s.location, s.describe(err))
	}
	return all, nil
}

// CountRecords returns the number of records.
func (s *Store) CountRecords(ctx context.Context) (int64, error) {
	var n int64
	if err := s.read.QueryRowContext(ctx, `SELECT count(*) FROM transcript`).Scan(&n); err != nil {
		return 0, fmt.Errorf("the transcripts in %s can't be read: %w", s.location, s.describe(err))
	}
	return n, nil
}

// PurgeRecords deletes the records from before a time and returns their number. It deletes in
// batches; after an error, earlier batches stay deleted.
func (s *Store) PurgeRecords(ctx context.Context, before time.Time) (int64, error) {
	stamp := before.UTC().Format(timeLayout)
	var all int64
	for {
		n, err := s.exec(ctx, `DELETE FROM transcript WHERE seq IN (SELECT seq FROM transcript WHERE time < $1 ORDER BY time, seq LIMIT $2)`, stamp, purgeBatch)
		if err != nil {
			return all, fmt.Errorf("old transcripts in %s can't be deleted: %w", s.location, err)
		}
		if all += n; n < purgeBatch {
			return all, nil
		}
	}
}
