package store

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strings"
	"time"

	"codex-bridge.example/bridge/decision"
)

// pageSize is the number of rows read at a time. Between pages no lock is held: a reader may wait,
// or write, inside its loop.
const pageSize = 1000

// Filter selects decisions; the zero value selects all.
type Filter struct {
	Since   time.Time
	Thread  string
	Method  string
	Verdict string
	Limit   int // the newest ones; 0: no limit
}

// Decisions returns the decisions that the filter selects, in the order of the chain. It does not
// verify them. The sequence ends at the first error.
func (s *Store) Decisions(ctx context.Context, f Filter) iter.Seq2[decision.Entry, error] {
	return func(yield func(decision.Entry, error) bool) {
		for r, err := range s.readRows(ctx, f) {
			if !yield(r.Entry, err) || err != nil {
				return
			}
		}
	}
}

func (s *Store) readRows(ctx context.Context, f Filter) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		where, args := f.where()
		next := int64(math.MinInt64) // shows forged numbers too
		if f.Limit > 0 {
			err := s.read.QueryRowContext(ctx, fmt.Sprintf(`SELECT coalesce(min(seq), 0) FROM
				(SELECT seq FROM decisions WHERE %s ORDER BY seq DESC LIMIT %d) AS newest`, where, f.Limit), args...).Scan(&next)
			if err != nil {
				yield(row{}, s.readError(err))
				return
			}
		}
		for {
			rows, err := s.readPage(ctx, where, args, next)
			for _, r := range rows {
				if !yield(r, nil) || r.Seq == math.MaxInt64 {
					return
				}
				next = r.Seq + 1
			}
			if err != nil {
				yield(row{}, s.readError(err))
				return
			}
			if len(rows) < pageSize {
				return
			}
		}
	}
}

// readError describes an error of reading the log.
func (s *Store) readError(err error) error {
	return fmt.Errorf("the log of decisions in %s can't be read: %w", s.location, s.describe(err))
}

// where returns the filter as an SQL condition and its parameters.
func (f Filter) where() (string, []any) {
	conditions, args := []string{"1 = 1"}, []any(nil)
	add := func(condition, value string) {
		args = append(args, value)
		conditions = append(conditions, fmt.Sprintf("%s $%d", condition, len(args)))
	}
	if !f.Since.IsZero() {
		add("time >=", f.Since.UTC().Format(timeLayout))
	}
	for _, is := range [][2]string{{"thread =", f.Thread}, {"method =", f.Method}, {"verdict =", f.Verdict}} {
		if is[1] != "" {
			add(is[0], decision.Truncate(is[1]))
		}
	}
	return strings.Join(conditions, " AND "), args
}

func (s *Store) readPage(ctx context.Context, where string, args []any, from int64) ([]row, error) {
	columns, err := s.columns(ctx)
	if err != nil {
		return nil, err
	}
	return queryAll(ctx, s.read, (*row).scan, fmt.Sprintf(`SELECT %s FROM decisions WHERE %s AND seq >= %d ORDER BY seq LIMIT %d`,
		columns, where, from, pageSize), args...)
}
