package store

import (
	"context"
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
	since := ""
	if !f.Since.IsZero() {
		since = f.Since.UTC().Format(stampForm)
	}
	all, err := s.findRecords(ctx, s, f, since)
	for i := range all {
		all[i].Snippet = f.Query.Snippet(all[i].Text)
	}
	return all, err
}

// found are the records of a statement, with the score that it gives each.
func (s *Store) found(ctx context.Context, statement string, args ...any) (all []Found, err error) {
	rows, err := s.read.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var one Found
		if err := one.from(rows.Scan, &one.Score); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}
