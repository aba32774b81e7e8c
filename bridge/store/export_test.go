package store

import (
	"database/sql"
	"iter"
)

// DB returns the connection that writes, for tests that change the database.
func (s *Store) DB() *sql.DB { return s.write }

// InsertDecision is the statement for the values of ChainValues.
const InsertDecision = insertDecision

// ChainValues returns the rows of count calls of Append.
func ChainValues(d Decision, count int) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		e, err := newEntry(d)
		head := Head{Hash: zeroHash}
		for range count {
			if err == nil {
				err = e.setPrevious(head)
			}
			if head = (Head{e.Seq, e.Hash}); !yield(e.values(), err) {
				return
			}
		}
	}
}

// ProcessStart is processStart.
var ProcessStart = processStart

// TimeLayout is the format of times in the database.
const TimeLayout = timeLayout
