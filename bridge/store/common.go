package store

import (
	"context"
	"database/sql"
	"slices"

	"codex-bridge/bridge/search"
)

const (
	// large is how many records there have to be in SQLite, and in how many places the words
	// of a query, before these count as common: it counts 20,000 places of a word in a
	// millisecond, and 7,000 of a phrase.
	large = 200_000
	// samples are how many records are looked at for that, and sampleText how much of each.
	samples, sampleText = 128, 4000
	// mostText is how many bytes of records are ranked here: 4 MiB take 30 ms.
	mostText = 4 << 20
)

// sampled is how common the words of a query are, as a few of all records have them.
type sampled struct {
	*search.Sample
	first, last, count int64 // the records there are, and how many
}

// sample looks at a few of all records; nil where there are not so many that it matters.
func (s *Store) sample(ctx context.Context, q search.Query) (*sampled, error) {
	var lowest, highest sql.NullInt64
	err := s.read.QueryRowContext(ctx, `SELECT (SELECT min(seq) FROM transcript), (SELECT max(seq) FROM transcript)`).Scan(&lowest, &highest)
	if err != nil || !lowest.Valid {
		return nil, err
	}
	taken := &sampled{q.Sample(), lowest.Int64, highest.Int64, highest.Int64 - lowest.Int64 + 1}
	if taken.count < s.large {
		return nil, nil
	}
	rows, err := s.read.QueryContext(ctx, `WITH RECURSIVE place (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM place WHERE n + 1 < $1)
		SELECT substr(text, 1, $2) FROM place JOIN transcript ON seq = $3 + n * CAST($4 AS BIGINT) / $1`, min(taken.count, samples), sampleText, lowest.Int64, taken.count)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		taken.Add(text)
	}
	return taken, rows.Err()
}

// ranked are the best of the records of a statement, which come newest first. They are not
// all of them where complete is false: their texts are too long.
func (s *Store) ranked(ctx context.Context, r *search.Ranking, limit int, statement string, args ...any) (best []Found, complete bool, err error) {
	rows, err := s.read.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = rows.Close() }()
	bytes := 0
	for bytes <= mostText && rows.Next() {
		var one Found
		if err := one.from(rows.Scan); err != nil {
			return nil, false, err
		}
		r.Add(one.Text)
		bytes += len(one.Text)
		best = append(best, one)
	}
	for i, score := range r.Scores() {
		best[i].Score = score
	}
	slices.SortStableFunc(best, func(a, b Found) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return 0 // the newer one, which came first
	})
	return best[:min(limit, len(best))], bytes <= mostText, rows.Err()
}
