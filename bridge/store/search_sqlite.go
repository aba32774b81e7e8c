package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// sqliteFind has SQLite rank, unless the words stand in so many records that to count these
// takes longer than all the rest: then it finds the newest, and they are ranked here, by the
// same formula.
func sqliteFind(ctx context.Context, s *Store, f Search, since string) ([]Found, error) {
	first := int64(0) // the first row from then on
	if since != "" {
		err := s.read.QueryRowContext(ctx, `SELECT min(seq) FROM transcript WHERE time >= $1 HAVING min(seq) IS NOT NULL`, since).Scan(&first)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	var facets []string
	if f.Kind != "" {
		facets = append(facets, kindFacet(f.Kind))
	}
	if f.Thread != "" {
		facets = append(facets, threadFacet(f.Thread))
	}
	match := f.Query.FTS5(facets...)
	const fit = `FROM transcript_words WHERE transcript_words MATCH $1 AND rowid >= $2 ORDER BY rowid DESC`

	sample, err := s.sample(ctx, f.Query)
	if err != nil {
		return nil, err
	}
	if sample != nil && sample.Places()*float64(sample.count) > float64(s.large) {
		best, complete, err := s.ranked(ctx, f.Query.Rank(sample.Weights()), f.Limit, fmt.Sprintf(`SELECT %s FROM (SELECT rowid %s LIMIT %d) AS hit
			JOIN transcript ON seq = hit.rowid WHERE time >= $3 ORDER BY seq DESC`, recordColumns, fit, mostRanked), match, first, since)
		if err != nil || complete {
			return best, err
		}
		var n int
		if err := s.read.QueryRowContext(ctx, fmt.Sprintf(`SELECT count(*) FROM (SELECT 1 %s LIMIT %d)`, fit, mostRanked), match, first).Scan(&n); err != nil || n == mostRanked {
			return best, err
		}
	}
	return s.found(ctx, fmt.Sprintf(`SELECT %s, -score FROM (SELECT rowid, bm25(transcript_words, 1.0, 0.0) AS score %s LIMIT %d) AS hit
		JOIN transcript ON seq = hit.rowid WHERE time >= $3 ORDER BY score, seq DESC LIMIT %d`, recordColumns, fit, mostRanked, f.Limit), match, first, since)
}
