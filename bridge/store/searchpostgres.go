package store

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"
)

// postgresFind finds the newest matches, at most maxRanked, and ranks them if they are fewer.
//
// The server plans each search anew, with its words: the general plan of a prepared statement reads
// all records that have a word, seconds for one that a million records have.
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
	return queryAll(ctx, s.read, (*Match).scan, fmt.Sprintf(`WITH newest AS MATERIALIZED (SELECT seq AS id, words FROM transcript
			WHERE words @@ `+asked+` AND ($2 = '' OR time >= $2) AND ($3 = '' OR thread = $3) AND ($4 = '' OR kind = $4)
			ORDER BY seq DESC LIMIT %[1]d),
		hit AS MATERIALIZED (SELECT id, CASE WHEN (SELECT count(*) FROM newest) < %[1]d
			THEN ts_rank(words, `+asked+`, 1)::float8 ELSE 0 END AS score -- 1: long texts count less
			FROM newest ORDER BY score DESC, id DESC LIMIT %[2]d)
		SELECT %[3]s, ts_headline('simple', text, `+asked+`, 'StartSel=[, StopSel=], MaxWords=24, MinWords=12'), score
		FROM hit JOIN transcript ON seq = id ORDER BY score DESC, seq DESC`, maxRanked, f.Limit, recordColumns),
		pgx.QueryExecModeExec, b.String(), since, f.Thread, string(f.Kind))
}
