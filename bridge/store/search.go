package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// maxRanked limits the number of ranked records: ranking most of a million records takes seconds.
const maxRanked = 2000

// maxTerms limits the words and phrases of a query.
const maxTerms = 32

// ErrEmptyQuery means that a query has no word to search for.
var ErrEmptyQuery = errors.New(`no word to search for; write words or "a phrase", and - before a word that must not be in a record`)

// SearchOptions select records of the transcripts.
type SearchOptions struct {
	// Query has words and phrases in double quotes, which must all be in a record, in any case.
	// A word or phrase after - must not be.
	Query  string
	Thread string    // id; empty: all threads
	Kind   Kind      // empty: all kinds
	Since  time.Time // zero: records of any time
	Limit  int       // maximum number of records; 0: 20
}

// Match is a record that matches a query.
type Match struct {
	Record
	Snippet string  `json:"snippet"` // a part of the text on one line, with the matches in brackets
	Score   float64 `json:"score"`   // higher is better; 0 if the records are not ranked
}

func (m *Match) scan(scan func(...any) error) error {
	var snippet sql.NullString
	err := m.Record.scan(scan, &snippet, &m.Score)
	m.Snippet = strings.Join(strings.Fields(snippet.String), " ")
	return err
}

// Find returns the matching records, the best first. If 2,000 or more match, it returns the newest
// first, without scores. Without a word to search for, it returns ErrEmptyQuery.
func (s *Store) Find(ctx context.Context, f SearchOptions) ([]Match, error) {
	f.Thread = cleanRecordText(f.Thread)
	q, err := parseQuery(cleanRecordText(f.Query))
	if err != nil {
		return nil, err
	}
	if f.Limit <= 0 {
		f.Limit = 20
	}
	since := ""
	if !f.Since.IsZero() {
		since = f.Since.UTC().Format(timeLayout)
	}
	count, find, args := s.search(f, q, since)
	var n int
	if err := s.read.QueryRowContext(ctx, count, args...).Scan(&n); err != nil {
		return nil, s.searchError(err)
	}
	found, err := queryAll(ctx, s.read, (*Match).scan, find(n < maxRanked), args...)
	if err != nil {
		return nil, s.searchError(err)
	}
	return found, nil
}

func (s *Store) searchError(err error) error {
	return fmt.Errorf("the transcripts in %s can't be searched: %w", s.location, s.describe(err))
}

// query is a parsed Query: words and phrases without quotes.
type query struct{ wanted, unwanted []string }

func parseQuery(text string) (query, error) {
	var q query
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		rest, minus := strings.CutPrefix(text, "-")
		var term string
		if phrase, ok := strings.CutPrefix(rest, `"`); ok {
			term, text, _ = strings.Cut(phrase, `"`)
		} else {
			end := strings.IndexFunc(rest, func(r rune) bool { return r == '"' || unicode.IsSpace(r) })
			if end < 0 {
				end = len(rest)
			}
			term, text = rest[:end], rest[end:]
		}
		switch {
		case !strings.ContainsFunc(term, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }):
		case minus:
			q.unwanted = append(q.unwanted, term)
		default:
			q.wanted = append(q.wanted, term)
		}
	}
	if len(q.wanted) == 0 {
		return query{}, ErrEmptyQuery
	}
	if n := len(q.wanted) + len(q.unwanted); n > maxTerms {
		return query{}, fmt.Errorf("the query has %d terms; write at most %d", n, maxTerms)
	}
	return q, nil
}

// sqliteSearch returns two statements with the same arguments: one counts the matches up to
// maxRanked, one finds them.
func sqliteSearch(f SearchOptions, q query, since string) (count string, find func(ranked bool) string, args []any) {
	quote := func(text string) string { return `"` + strings.ReplaceAll(text, `"`, ` `) + `"` }
	var b strings.Builder
	for i, term := range q.wanted {
		if i > 0 {
			b.WriteString(" AND ")
		}
		b.WriteString("text : " + quote(term))
	}
	if f.Thread != "" {
		b.WriteString(" AND thread : " + quote(f.Thread))
	}
	if f.Kind != "" {
		b.WriteString(" AND kind : " + quote(string(f.Kind)))
	}
	match := "(" + b.String() + ")"
	for _, term := range q.unwanted {
		match += " NOT text : " + quote(term)
	}
	// The limit on rowid and the + are for speed: min(seq) alone would scan the table. A phrase in
	// the column thread also matches longer ids.
	const from = `FROM transcript_words WHERE transcript_words MATCH $1
		AND rowid >= coalesce((SELECT min(+seq) FROM transcript WHERE $2 <> '' AND time >= $2), CASE $2 WHEN '' THEN 0 ELSE 9223372036854775807 END)
		AND ($2 = '' OR (SELECT time FROM transcript WHERE seq = transcript_words.rowid) >= $2)
		AND ($3 = '' OR (SELECT thread FROM transcript WHERE seq = transcript_words.rowid) = $3)`
	find = func(ranked bool) string {
		score, order := "0.0", "rowid DESC"
		if ranked {
			score, order = "-bm25(transcript_words, 1.0, 0.0, 0.0)", "score DESC, rowid DESC"
		}
		return fmt.Sprintf(`WITH hit AS MATERIALIZED (SELECT rowid AS id, %s AS score %s ORDER BY %s LIMIT %d)
			SELECT %s, (SELECT snippet(transcript_words, 0, '[', ']', '…', 24) FROM transcript_words WHERE transcript_words MATCH $1 AND rowid = id), score
			FROM hit JOIN transcript ON seq = id ORDER BY score DESC, seq DESC`, score, from, order, f.Limit, recordColumns)
	}
	return fmt.Sprintf(`SELECT count(*) FROM (SELECT 1 %s LIMIT %d)`, from, maxRanked), find, []any{match, since, f.Thread}
}

// postgresSearch returns the statements of sqliteSearch for PostgreSQL.
func postgresSearch(f SearchOptions, q query, since string) (count string, find func(ranked bool) string, args []any) {
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
	find = func(ranked bool) string {
		score := "0::float8"
		if ranked {
			score = "ts_rank(words, " + asked + ", 1)::float8" // 1: long texts count less
		}
		return fmt.Sprintf(`WITH hit AS MATERIALIZED (SELECT *, %s AS score %s ORDER BY score DESC, seq DESC LIMIT %d)
			SELECT %s, ts_headline('simple', text, %s, 'StartSel=[, StopSel=], MaxWords=24, MinWords=12'), score
			FROM hit ORDER BY score DESC, seq DESC`, score, from, f.Limit, recordColumns, asked)
	}
	return fmt.Sprintf(`SELECT count(*) FROM (SELECT 1 %s LIMIT %d) AS hit`, from, maxRanked), find, []any{b.String(), since, f.Thread, string(f.Kind)}
}
