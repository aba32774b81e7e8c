package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"
)

// window is the number of the newest records that a search reads before it uses the index of words. Tests
// change it.
var window = 10_000

// postgresFind finds the newest matches, at most maxRanked, and ranks them if they are fewer.
//
// The server knows only how many records have the most frequent words. So the search counts among the
// newest records, and with that it chooses: for a frequent word the newest records suffice, and for a
// rare one the index of words has few records. A wrong choice takes seconds with ten million records.
func postgresFind(ctx context.Context, s *Store, f SearchOptions, q query, since string) ([]Match, error) {
	args := []any{pgx.QueryExecModeExec, postgresQuery(q), since, f.Thread, string(f.Kind)}
	read, hits, err := s.newestRead(ctx, window, args)
	if err == nil && read == window && len(hits) < maxRanked && len(hits) >= window/100 {
		read, hits, err = s.newestRead(ctx, window*maxRanked/len(hits)*5/4, args)
	}
	if err == nil && read >= window && len(hits) < maxRanked {
		hits, err = s.newestIndexed(ctx, args)
	}
	if err != nil {
		return nil, err
	}
	score := "0::float8"
	if len(hits) < maxRanked {
		score = "ts_rank(words, " + asked + ", 1)::float8" // 1: long texts count less
	}
	return queryAll(ctx, s.read, (*Match).scan, `WITH hit AS MATERIALIZED
			(SELECT *, `+score+` AS score FROM transcript WHERE seq = ANY($2) ORDER BY score DESC, seq DESC LIMIT $3)
		SELECT `+recordColumns+`, ts_headline('simple', text, `+asked+`, 'StartSel=[, StopSel=], MaxWords=24, MinWords=12'), score
		FROM hit ORDER BY score DESC, seq DESC`, pgx.QueryExecModeExec, postgresQuery(q), hits, f.Limit)
}

// asked is a query of the index of words.
const asked = `websearch_to_tsquery('simple', $1)`

// postgresQuery returns the text of the query $1.
func postgresQuery(q query) string {
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
	return b.String()
}

// newestRead reads so many of the newest records. It returns the number of records read, which is lower if
// there are no more, and the newest matches, at most maxRanked.
func (s *Store) newestRead(ctx context.Context, records int, args []any) (read int, hits []int64, err error) {
	var list string
	err = s.read.QueryRowContext(ctx, fmt.Sprintf(`SELECT count(*), coalesce(to_json((array_agg(seq ORDER BY seq DESC) FILTER
			(WHERE words @@ `+asked+` AND ($4 = '' OR kind = $4)))[:%d]), '[]')::text
		FROM (SELECT seq, words, kind FROM transcript WHERE ($2 = '' OR time >= $2) AND ($3 = '' OR thread = $3)
			ORDER BY seq DESC LIMIT %d) AS newest`, maxRanked, records), args...).Scan(&read, &list)
	if err != nil {
		return 0, nil, err
	}
	return read, hits, json.Unmarshal([]byte(list), &hits)
}

// newestIndexed returns the newest matches, at most maxRanked, by the index of words. The + and || keep the
// server from reading the records in the order of seq or time instead.
func (s *Store) newestIndexed(ctx context.Context, args []any) ([]int64, error) {
	scan := func(seq *int64, scan func(...any) error) error { return scan(seq) }
	return queryAll(ctx, s.read, scan, fmt.Sprintf(`SELECT seq FROM transcript WHERE words @@ `+asked+`
		AND ($2 = '' OR time || '' >= $2) AND ($3 = '' OR thread = $3) AND ($4 = '' OR kind = $4)
		ORDER BY seq + 0 DESC LIMIT %d`, maxRanked), args...)
}
