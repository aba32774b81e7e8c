package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Problem is what became of a decision.
type Problem string

// The problems.
const (
	Changed    Problem = "changed"
	Missing    Problem = "missing"
	OutOfOrder Problem = "out of order"
)

// BrokenError is a chain that does not hold. Seq is the first number that is
// wrong.
type BrokenError struct {
	Seq     int64
	Problem Problem
	Detail  string
}

func (e *BrokenError) Error() string {
	if e.Seq == 0 && e.Problem == Missing {
		return "the head that was noted is missing: " + e.Detail
	}
	return fmt.Sprintf("decision %d is %s: %s", e.Seq, e.Problem, e.Detail)
}

// slack is how far beyond the number of entries diagnose looks.
const slack = 1000

// Verify walks the whole chain, 100,000 decisions in about a second, and returns
// its head. A *BrokenError names the first decision that was changed, taken out,
// put in or moved since it was written.
//
// From inside the chain two things can't be seen: that its end was cut off, and
// that somebody who may write the database wrote all of it anew from some entry
// on. Against both helps a head that was noted elsewhere: see Holds.
func (s *Store) Verify(ctx context.Context) (Head, error) {
	head := Head{Hash: none}
	for r, err := range s.rows(ctx, Filter{}) {
		if err != nil {
			return head, err
		}
		if err := s.follows(ctx, head, r); err != nil {
			return head, err
		}
		head = Head{r.Seq, r.Hash}
	}
	return head, nil
}

// follows says whether r is what was written after head.
func (s *Store) follows(ctx context.Context, head Head, r row) error {
	want := head.Seq + 1
	if r.Seq < want {
		return &BrokenError{r.Seq, OutOfOrder, "the first decision has the number 1"}
	}
	if r.Seq > want {
		return &BrokenError{want, Missing, fmt.Sprintf("after %d comes %d", head.Seq, r.Seq)}
	}
	sum, err := r.sum()
	if err != nil {
		return err
	}
	if !r.intact || sum != r.Hash {
		return s.diagnose(ctx, r)
	}
	if r.Previous != head.Hash {
		return &BrokenError{r.Seq, OutOfOrder, "it was not written after what stands before it"}
	}
	return nil
}

// diagnose tells an entry that was moved from one whose content was changed, by
// trying the numbers on it that there are, and some more in case that others were
// taken out. That takes as long as Verify.
func (s *Store) diagnose(ctx context.Context, r row) error {
	var entries int64
	if err := s.read.QueryRowContext(ctx, `SELECT count(*) FROM decisions`).Scan(&entries); err != nil {
		return s.unread(err)
	}
	moved := r.Entry
	for moved.Seq = 1; r.intact && moved.Seq <= entries+slack; moved.Seq++ {
		if sum, err := moved.sum(); err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		} else if sum == r.Hash {
			return &BrokenError{r.Seq, OutOfOrder, fmt.Sprintf("it was written as %d", moved.Seq)}
		}
	}
	return &BrokenError{r.Seq, Changed, "its content does not fit its hash"}
}

// Holds says whether a head that was noted earlier is still in the log; a
// *BrokenError when it is not. A noted head without a number is looked for by
// its hash. It says nothing about the chain: Verify first.
func (s *Store) Holds(ctx context.Context, noted Head) error {
	if noted.Hash == none && noted.Seq == 0 {
		return nil
	}
	var seq int64
	err := s.read.QueryRowContext(ctx, `SELECT seq FROM decisions WHERE hash = $1 ORDER BY seq LIMIT 1`, noted.Hash).Scan(&seq)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return &BrokenError{noted.Seq, Missing, "no decision has the hash " + noted.Hash + "; the end of the log was cut off, or the log written anew"}
	case err != nil:
		return s.unread(err)
	case noted.Seq != 0 && seq != noted.Seq:
		return &BrokenError{seq, OutOfOrder, fmt.Sprintf("its hash was noted as that of %d", noted.Seq)}
	}
	return nil
}
