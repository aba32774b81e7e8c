package store

import (
	"context"
	"fmt"
	"strings"
	"unicode"
)

// postgresFind counts the matches up to maxRanked, and then finds them.
func postgresFind(ctx context.Context, s *Store, f SearchOptions, q query, since string) ([]Match, error) {
	words := func(text string) string { // without punctuation, as in the column words
		return `"` + strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= unicode.MaxASCII && !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ") + `" `
	}
	var b strings.Builder
	for _, term := range q.wanted {
		b.WriteString(words(term))
	}
	for _, term := range q.unwanted {
		b.WriteString("-" + words(term))
	}
	const asked = `websearch_to_tsquery('simple', $1)`
	const from = `FROM transcript WHERE words @@ ` + asked + ` AND ($2 = '' OR time >= $2) AND ($3 = '' OR thread = $3) AND ($4 = '' OR kind = $4)`
	args := []any{b.String(), since, f.Thread, string(f.Kind)}
	var n int
	if err := s.read.QueryRowContext(ctx, fmt.Sprintf(`SELECT count(*) FROM (SELECT 1 %s LIMIT %d) AS hit`, from, maxRanked), args...).Scan(&n); err != nil {
		return nil, err
	}
	score := "0::float8"
	if n < maxRanked {
		score = "ts_rank(words, " + asked + ", 1)::float8" // 1: long texts count less
	}
	return queryAll(ctx, s.read, (*Match).scan, fmt.Sprintf(`WITH hit AS MATERIALIZED (SELECT *, %s AS score %s ORDER BY score DESC, seq DESC LIMIT %d)
		SELECT %s, ts_headline('simple', text, %s, 'StartSel=[, StopSel=], MaxWords=24, MinWords=12'), score
		FROM hit ORDER BY score DESC, seq DESC`, score, from, f.Limit, recordColumns, asked), args...)
}
