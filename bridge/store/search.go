package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"codex-bridge/bridge/search"
)

// mostRanked is how many of the newest records that fit are ranked: a word that stands
// everywhere says little, and its records are many.
const mostRanked = 2000

// Search says what is looked for in the transcripts.
type Search struct {
	Query  search.Query
	Thread string    // empty: in all
	Kind   Kind      // empty: all
	Since  time.Time // zero: all
	Limit  int       // at most so many; 0: 20
}

// Found is a record that fits, and the part of it that shows why.
type Found struct {
	Record
	Snippet string  `json:"snippet"`
	Score   float64 `json:"score"` // more fits better; of one search only
}

// Find are the records that fit, the best first. Of those that fit the newest 2,000 are
// ranked.
func (s *Store) Find(ctx context.Context, f Search) ([]Found, error) {
	if s.version < transcriptsSince {
		return nil, nil
	}
	if f.Limit <= 0 {
		f.Limit = 20
	}
	all, err := s.find(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("the transcripts in %s can't be searched: %w", s.where, s.failed(err))
	}
	return all, nil
}

func (s *Store) find(ctx context.Context, f Search) ([]Found, error) {
	since, first := "", int64(0)
	if !f.Since.IsZero() {
		since = f.Since.UTC().Format(stampForm)
		err := s.read.QueryRowContext(ctx, `SELECT min(seq) FROM transcript WHERE time >= $1 HAVING min(seq) IS NOT NULL`, since).Scan(&first)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	statement, args := s.findRecords(f, since, first)
	rows, err := s.read.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []Found
	for rows.Next() {
		var one Found
		if err := one.from(rows.Scan, &one.Score); err != nil {
			return nil, err
		}
		one.Snippet = f.Query.Snippet(one.Text)
		all = append(all, one)
	}
	return all, rows.Err()
}

// What the index of a database is told and asked.
const (
	// A record that is there has its item's id, or was told again with its text.
	keepWhere = ` WHERE NOT EXISTS (SELECT 1 FROM transcript WHERE thread = $2 AND turn = $3 AND kind = $4 AND name = $6
		AND (item = $5 AND $5 <> '' OR $11 = 1 AND digest = $10))`
	keepNumber = `(SELECT coalesce(max(idx) + 1, 0) FROM transcript WHERE thread = $2 AND turn = $3 AND kind = $4)`

	sqliteKeep = `INSERT INTO transcript (seq, thread, turn, kind, idx, item, name, state, time, text, digest)
		SELECT $1, $2, $3, $4, ` + keepNumber + `, $5, $6, $7, $8, $9, $10` + keepWhere
	sqliteIndex   = `INSERT INTO transcript_words (rowid, words, facets) VALUES ($1, $2, $3)`
	sqliteUnindex = `DELETE FROM transcript_words WHERE rowid IN (SELECT seq FROM transcript WHERE time < $1 ORDER BY time, seq LIMIT $2)`

	postgresKeep = `INSERT INTO transcript (seq, thread, turn, kind, idx, item, name, state, time, text, digest, words)
		SELECT $1::bigint, $2::text, $3::text, $4::text, ` + keepNumber + `, $5::text, $6::text, $7::text, $8::text, $9::text, $10::text, $12::text::tsvector` + keepWhere
)

func sqliteFind(f Search, since string, first int64) (string, []any) {
	var facets []string
	if f.Kind != "" {
		facets = append(facets, kindFacet(f.Kind))
	}
	if f.Thread != "" {
		facets = append(facets, threadFacet(f.Thread))
	}
	return fmt.Sprintf(`SELECT thread, turn, kind, idx, item, name, state, time, text, -score FROM
		(SELECT rowid, bm25(transcript_words, 1.0, 0.0) AS score FROM transcript_words
		WHERE transcript_words MATCH $1 AND rowid >= $2 ORDER BY rowid DESC LIMIT %d) AS hit
		JOIN transcript ON seq = hit.rowid WHERE time >= $3 ORDER BY score, seq DESC LIMIT %d`, mostRanked, f.Limit),
		[]any{f.Query.FTS5(facets...), first, since}
}

func postgresFind(f Search, since string, first int64) (string, []any) {
	return fmt.Sprintf(`SELECT thread, turn, kind, idx, item, name, state, time, text, ts_rank(words, $1::text::tsquery)::float8 AS score FROM
		(SELECT * FROM transcript WHERE words @@ $1::text::tsquery AND seq >= $2 AND time >= $3
		AND ($4 = '' OR thread = $4) AND ($5 = '' OR kind = $5) ORDER BY seq DESC LIMIT %d) AS hit
		ORDER BY score DESC, seq DESC LIMIT %d`, mostRanked, f.Limit), []any{f.Query.TSQuery(), first, since, f.Thread, string(f.Kind)}
}
