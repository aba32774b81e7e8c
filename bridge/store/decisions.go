package store

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strings"
	"time"
)

// page is how many rows are read at a time. Nothing is held between pages, so
// that a reader may take its time, or write, inside its loop.
const page = 1000

// Filter chooses decisions; its zero value all of them.
type Filter struct {
	Since   time.Time
	Thread  string
	Method  string
	Verdict string
	Limit   int // the newest so many; 0: no limit
}

// Decisions are those that the filter chooses, in the order of the chain. They
// are not verified. The sequence ends with its first error.
func (s *Store) Decisions(ctx context.Context, f Filter) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for r, err := range s.rows(ctx, f) {
			if !yield(r.Entry, err) || err != nil {
				return
			}
		}
	}
}

func (s *Store) rows(ctx context.Context, f Filter) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		where, args := f.where()
		next := int64(math.MinInt64) // a number that Append never gives is to be seen, too
		if f.Limit > 0 {
			err := s.read.QueryRowContext(ctx, fmt.Sprintf(`SELECT coalesce(min(seq), 0) FROM
				(SELECT seq FROM decisions WHERE %s ORDER BY seq DESC LIMIT %d) AS newest`, where, f.Limit), args...).Scan(&next)
			if err != nil {
				yield(row{}, s.unread(err))
				return
			}
		}
		for {
			rows, err := s.page(ctx, where, args, next)
			for _, r := range rows {
				if !yield(r, nil) || r.Seq == math.MaxInt64 {
					return
				}
				next = r.Seq + 1
			}
			if err != nil {
				yield(row{}, s.unread(err))
				return
			}
			if len(rows) < page {
				return
			}
		}
	}
}

// unread is why the log can't be read.
func (s *Store) unread(err error) error {
	return fmt.Errorf("the log of decisions in %s can't be read: %w", s.where, s.failed(err))
}

// where is the filter as a condition; the texts go as parameters.
func (f Filter) where() (string, []any) {
	conditions, args := []string{"1 = 1"}, []any(nil)
	add := func(condition, value string) {
		args = append(args, value)
		conditions = append(conditions, fmt.Sprintf("%s $%d", condition, len(args)))
	}
	if !f.Since.IsZero() {
		add("time >=", f.Since.UTC().Format(stampForm))
	}
	for _, is := range [][2]string{{"thread =", f.Thread}, {"method =", f.Method}, {"verdict =", f.Verdict}} {
		if is[1] != "" {
			add(is[0], bounded(is[1]))
		}
	}
	return strings.Join(conditions, " AND "), args
}

func (s *Store) page(ctx context.Context, where string, args []any, from int64) ([]row, error) {
	rows, err := s.read.QueryContext(ctx, fmt.Sprintf(`SELECT %s FROM decisions WHERE %s AND seq >= %d ORDER BY seq LIMIT %d`,
		columns, where, from, page), args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []row
	for rows.Next() {
		var r row
		if err := r.from(rows.Scan); err != nil {
			return all, err
		}
		all = append(all, r)
	}
	return all, rows.Err()
}
