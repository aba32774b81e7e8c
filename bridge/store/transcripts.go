package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// purgeBatch is the number of records deleted in one transaction, so that other writers don't wait
// long.
const purgeBatch = 500

// AddRecords writes all records or none, in their order. It skips records that are already stored
// and returns the number of new ones. It numbers each record among those of its kind in its turn.
func (s *Store) AddRecords(ctx context.Context, records []Record) (int, error) {
	var added []Record
	err := s.update(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		if added, err = newRecords(ctx, tx, records); err != nil {
			return err
		}
		return s.insertRecords(ctx, tx, added)
	})
	if err != nil {
		return 0, fmt.Errorf("a transcript can't be written in %s: %w", s.location, err)
	}
	return len(added), nil
}

// recordSet has the records of one kind in one turn.
type recordSet struct {
	next    int // index
	items   map[recordKey]bool
	digests map[recordKey]bool
}

// recordKey is the name of a record, with its item or the digest of its text.
type recordKey struct{ name, id string }

// has reports whether a record equals one of the set: by its item, or if it is replayed by its text.
func (s *recordSet) has(r Record, digest string) bool {
	return r.Item != "" && s.items[recordKey{r.Name, r.Item}] || r.Replayed && s.digests[recordKey{r.Name, digest}]
}

func (s *recordSet) add(index int, name, item, digest string) {
	s.next = max(s.next, index+1)
	s.items[recordKey{name, item}] = true
	if digest != "" {
		s.digests[recordKey{name, digest}] = true
	}
}

// newRecords returns the records that are not stored, cleaned and with their indexes.
func newRecords(ctx context.Context, tx *sql.Tx, records []Record) ([]Record, error) {
	type place struct {
		thread, turn string
		kind         Kind
	}
	read, err := tx.PrepareContext(ctx, `SELECT idx, name, item, CASE WHEN $4 THEN digest ELSE '' END FROM transcript
		WHERE thread = $1 AND turn = $2 AND kind = $3`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = read.Close() }()
	// SQLite reads the whole text before a digest.
	withDigests := slices.ContainsFunc(records, func(r Record) bool { return r.Replayed })
	sets := make(map[place]*recordSet)
	all := make([]Record, 0, len(records))
	for _, r := range records {
		r = r.clean()
		at := place{r.Thread, r.Turn, r.Kind}
		if sets[at] == nil {
			set, err := readRecordSet(ctx, read, r, withDigests)
			if err != nil {
				return nil, err
			}
			sets[at] = set
		}
		digest := ""
		if withDigests {
			digest = r.digest()
		}
		if set := sets[at]; !set.has(r, digest) {
			r.Index = set.next
			set.add(r.Index, r.Name, r.Item, digest)
			all = append(all, r)
		}
	}
	return all, nil
}

// readRecordSet returns the stored records of the kind and turn of r.
func readRecordSet(ctx context.Context, read *sql.Stmt, r Record, withDigests bool) (_ *recordSet, err error) {
	set := &recordSet{items: make(map[recordKey]bool), digests: make(map[recordKey]bool)}
	rows, err := read.QueryContext(ctx, r.Thread, r.Turn, string(r.Kind), withDigests)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var index int
		var name, item, digest string
		if err := rows.Scan(&index, &name, &item, &digest); err != nil {
			return nil, err
		}
		set.add(index, name, item, digest)
	}
	return set, rows.Err()
}

// insertRows is the number of records in one statement. SQLite writes its index of words to the file
// at each statement, so a statement for each record takes twice the time.
const insertRows = 100

func (s *Store) insertRecords(ctx context.Context, tx *sql.Tx, records []Record) error {
	var seq int64
	if err := tx.QueryRowContext(ctx, `SELECT coalesce(max(seq), 0) FROM transcript`).Scan(&seq); err != nil {
		return err
	}
	for part := range slices.Chunk(records, insertRows) {
		args := slices.Clone(s.unprepared)
		for _, r := range part {
			seq++
			args = append(args, seq, r.Thread, r.Turn, string(r.Kind), r.Index, r.Item, r.Name, r.State, r.Time.Format(timeLayout), r.Text, r.digest())
		}
		if _, err := tx.ExecContext(ctx, insertRecord+s.parameters(len(part)), args...); err != nil {
			return err
		}
	}
	return nil
}

const (
	insertRecord  = `INSERT INTO transcript (seq, thread, turn, kind, idx, item, name, state, time, text, digest) VALUES `
	insertColumns = 11
)

// parameters returns the parameters of so many rows for insertRecord.
func (s *Store) parameters(rows int) string {
	all := make([]string, rows)
	for i := range all {
		row := make([]string, insertColumns)
		for n := range row {
			row[n] = s.parameter(i*insertColumns + n + 1)
		}
		all[i] = "(" + strings.Join(row, ",") + ")"
	}
	return strings.Join(all, ",")
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
