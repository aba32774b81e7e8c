package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

const (
	// often is the share of records from which on those that fit are found by going through
	// the newest: an index gives all that fit, in no order, and each has to be fetched. 2,000
	// of 110,000 were found in 16 ms by the one and in 1,045 ms by the other.
	often = 1. / 16
	// stride is how many records are gone through at once: so few that it does not matter
	// what the server knows of the table. Of the newest it has no statistics yet.
	stride = 8000
)

// postgresScope is what is asked of a record, with $1 to $4. The plan is made for their
// values, and not for any.
const postgresScope = `words @@ $1::text::tsquery AND ($2 = '' OR time >= $2) AND ($3 = '' OR thread = $3) AND ($4 = '' OR kind = $4)`

// postgresFind goes through the newest records for what stands in many, and asks the index
// for what does not. The server would guess which is better, and guesses wrong about the
// beginning of a word.
func postgresFind(ctx context.Context, s *Store, f Search, since string) ([]Found, error) {
	scope := []any{pgx.QueryExecModeExec, f.Query.TSQuery(), since, f.Thread, string(f.Kind)}
	newest, err := s.postgresCommon(ctx, f, scope)
	if err != nil {
		return nil, err
	}
	if newest == nil {
		newest, err = s.numbers(ctx, nil, fmt.Sprintf(`WITH hit AS MATERIALIZED (SELECT seq FROM transcript WHERE %s)
			SELECT seq FROM hit ORDER BY seq DESC LIMIT %d`, postgresScope, mostRanked), scope...)
		if err != nil || len(newest) == 0 {
			return nil, err
		}
	}
	return s.found(ctx, fmt.Sprintf(`SELECT %s, ts_rank(words, $1::text::tsquery)::float8 AS score FROM transcript WHERE seq = ANY($2)
		ORDER BY score DESC, seq DESC LIMIT %d`, recordColumns, f.Limit), pgx.QueryExecModeExec, f.Query.TSQuery(), newest)
}

// postgresCommon are the newest records that fit, as many as are ranked; nil where they are
// better asked of the index.
func (s *Store) postgresCommon(ctx context.Context, f Search, scope []any) (newest []int64, err error) {
	if f.Thread != "" {
		return nil, nil
	}
	sample, err := s.sample(ctx, f.Query)
	if err != nil || sample == nil || sample.Fit() < often {
		return nil, err
	}
	seen := 0
	for last := sample.last; last >= sample.first; last -= stride {
		// What IS TRUE is asked of is not looked up in an index.
		newest, err = s.numbers(ctx, newest, fmt.Sprintf(`SELECT seq FROM transcript WHERE seq > $5 AND seq <= $6 AND (%s) IS TRUE
			ORDER BY seq DESC LIMIT %d`, postgresScope, mostRanked-len(newest)), append(slices.Clip(scope), last-stride, last)...)
		if err != nil || len(newest) == mostRanked {
			return newest, err
		}
		if seen += stride; float64(len(newest)) < float64(seen)*often/2 {
			break // of that time, or kind, there are not many
		}
	}
	return nil, nil
}

// numbers adds those of the records of a statement to others.
func (s *Store) numbers(ctx context.Context, all []int64, statement string, args ...any) ([]int64, error) {
	rows, err := s.read.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, rows.Err()
}
