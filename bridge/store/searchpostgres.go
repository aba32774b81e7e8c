package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"
)

// window is the number of the newest records that a search reads first. Tests change it.
var window = 2_000

// tsquery is a query of the index of words.
const tsquery = `websearch_to_tsquery('simple', $1)`

// searchConditions select the records of a search: $1 to $4 are its query, time, thread and kind.
const searchConditions = `words @@ ` + tsquery + ` AND ($2 = '' OR time >= $2) AND ($3 = '' OR thread = $3) AND ($4 = '' OR kind = $4)`

// postgresFind finds the newest matches, at most maxRanked, and ranks them if they are fewer.
//
// The server's statistics have only the most frequent words; it takes each other word for one that half a
// per cent of the records have. So the search counts the matches among the newest records. If there are
// many, more of the newest records have enough of them; if there are few, it uses the index of words. A
// wrong choice takes seconds with ten million records.
func postgresFind(ctx context.Context, s *Store, f SearchOptions, q query, since string) ([]Match, error) {
	// A prepared statement would get one plan for all words after five searches.
	args := []any{pgx.QueryExecModeExec, postgresQuery(q), since, f.Thread, string(f.Kind)}
	read, hits, err := s.findInNewest(ctx, window, args)
	if err == nil && read == window && len(hits) < maxRanked && len(hits) >= window/100 {
		read, hits, err = s.findInNewest(ctx, window*maxRanked/len(hits)*5/4, args)
	}
	if err == nil && read >= window && len(hits) < maxRanked {
		hits, err = s.findInIndex(ctx, args)
	}
	if err != nil {
		return nil, err
	}
	score := "0::float8"
	if len(hits) < maxRanked {
		score = "ts_rank(words, " + tsquery + ", 1)::float8" // 1: long texts count less
	}
	// The conditions again: another record can have the number of one that was deleted since.
	return queryAll(ctx, s.read, (*Match).scan, `WITH hit AS MATERIALIZED
			(SELECT *, `+score+` AS score FROM transcript WHERE seq = ANY($5) AND `+searchConditions+` ORDER BY score DESC, seq DESC LIMIT $6)
		SELECT `+recordColumns+`, ts_headline('simple', text, `+tsquery+`, 'StartSel=[, StopSel=], MaxWords=24, MinWords=12'), score
		FROM hit ORDER BY score DESC, seq DESC`, append(args, hits, f.Limit)...)
}

// postgresQuery returns the words and phrases of a query for websearch_to_tsquery.
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

// findInNewest finds matches among the newest records of the thread and since the time of a search. It
// returns the number of records that it read, which is lower than limit if there are no more, and the
// newest matches, at most maxRanked.
func (s *Store) findInNewest(ctx context.Context, limit int, args []any) (read int, hits []int64, err error) {
	var list string
	err = s.read.QueryRowContext(ctx, fmt.Sprintf(`SELECT count(*), coalesce(to_json((array_agg(seq ORDER BY seq DESC) FILTER
			(WHERE words @@ `+tsquery+` AND ($4 = '' OR kind = $4)))[:%d]), '[]')::text
		FROM (SELECT seq, words, kind FROM transcript WHERE ($2 = '' OR time >= $2) AND ($3 = '' OR thread = $3)
			ORDER BY seq DESC LIMIT %d) AS newest`, maxRanked, limit), args...).Scan(&read, &list)
	if err != nil {
		return 0, nil, err
	}
	return read, hits, json.Unmarshal([]byte(list), &hits)
}

// findInIndex finds the newest matches among all records, at most maxRanked. With the + and ||, the server
// does not read the records in the order of seq or time, so it uses the index of words, or for a frequent
// word of a rare kind the whole table.
func (s *Store) findInIndex(ctx context.Context, args []any) ([]int64, error) {
	scan := func(seq *int64, scan func(...any) error) error { return scan(seq) }
	return queryAll(ctx, s.read, scan, fmt.Sprintf(`SELECT seq FROM transcript WHERE words @@ `+tsquery+`
		AND ($2 = '' OR time || '' >= $2) AND ($3 = '' OR thread = $3) AND ($4 = '' OR kind = $4)
		ORDER BY seq + 0 DESC LIMIT %d`, maxRanked), args...)
}
