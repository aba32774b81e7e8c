package store

import (
	"database/sql"
	"iter"
)

// DB is the connection that writes, for tests that tamper or break.
func (s *Store) DB() *sql.DB { return s.write }

// Insert takes the values of Chain.
const Insert = insert

// Chain is what count calls of Append would insert.
func Chain(d Decision, count int) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		e, err := newEntry(d)
		head := Head{Hash: none}
		for range count {
			if err == nil {
				err = e.follow(head)
			}
			if head = (Head{e.Seq, e.Hash}); !yield(e.values(), err) {
				return
			}
		}
	}
}

// StartOf tells a process from a later one of its id.
var StartOf = startOf

// StampForm is the form of times in the database.
const StampForm = stampForm
