package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"codex-bridge.example/bridge/decision"
)

// maxRanked limits the number of ranked records: ranking most of a million records takes seconds.
const maxRanked = 1000

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
	Limit  int       // maximum number of records, at most 1,000; 0: 20
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

// Find returns the matching records, at most 1,000, the best first. If 1,000 or more match, it returns
// the newest, the newest first, without scores. In SQLite, a word or phrase that 20,000 or more records
// have does not count for the order. Without a word to search for, it returns ErrEmptyQuery.
func (s *Store) Find(ctx context.Context, f SearchOptions) ([]Match, error) {
	f.Thread = decision.CleanText(f.Thread)
	q, err := parseQuery(decision.CleanText(f.Query))
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
	found, err := s.find(ctx, s, f, q, since)
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
