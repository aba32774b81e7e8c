package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Problem is the kind of damage of a chain.
type Problem string

// The problems.
const (
	Changed    Problem = "changed"
	Missing    Problem = "missing"
	OutOfOrder Problem = "out of order"
)

// BrokenError means that the chain is damaged. Seq is the number of the first wrong entry.
type BrokenError struct {
	Seq     int64
	Problem Problem
	Detail  string
}

func (e *BrokenError) Error() string {
	if e.Seq == 0 && e.Problem == Missing {
		return "the noted head is missing: " + e.Detail
	}
	return fmt.Sprintf("decision %d is %s: %s", e.Seq, e.Problem, e.Detail)
}

// extraSeq is the range beyond the number of entries that diagnose tries.
const extraSeq = 1000

// Verify checks the whole chain, about 100,000 decisions per second, and returns its head. A
// *BrokenError names the first decision that was changed, deleted, inserted or moved.
//
// The chain itself can't show that its end was deleted, or that a user with write access rewrote it
// from some entry on. A head noted elsewhere shows both: see CheckHead.
func (s *Store) Verify(ctx context.Context) (Head, error) {
	head := Head{Hash: zeroHash}
	for r, err := range s.readRows(ctx, Filter{}) {
		if err != nil {
			return head, err
		}
		if err := s.checkLink(ctx, head, r); err != nil {
			return head, err
		}
		head = Head{r.Seq, r.Hash}
	}
	return head, nil
}

// checkLink returns an error unless r was written directly after head.
func (s *Store) checkLink(ctx context.Context, head Head, r row) error {
	want := head.Seq + 1
	if r.Seq < want {
		return &BrokenError{r.Seq, OutOfOrder, "numbers start at 1"}
	}
	if r.Seq > want {
		return &BrokenError{want, Missing, fmt.Sprintf("the next decision after %d is %d", head.Seq, r.Seq)}
	}
	sum, err := r.sum()
	if err != nil {
		return err
	}
	if !r.intact || sum != r.Hash {
		return s.diagnose(ctx, r)
	}
	if r.Previous != head.Hash {
		return &BrokenError{r.Seq, OutOfOrder, "it was not written after the decision before it"}
	}
	return nil
}

// diagnose distinguishes a moved entry from a changed one: it tries all numbers, and some more in
// case entries were deleted. That takes as long as Verify.
func (s *Store) diagnose(ctx context.Context, r row) error {
	var entries int64
	if err := s.read.QueryRowContext(ctx, `SELECT count(*) FROM decisions`).Scan(&entries); err != nil {
		return s.readError(err)
	}
	moved := r.Entry
	for moved.Seq = 1; r.intact && moved.Seq <= entries+extraSeq; moved.Seq++ {
		if sum, err := moved.sum(); err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		} else if sum == r.Hash {
			return &BrokenError{r.Seq, OutOfOrder, fmt.Sprintf("it was written as %d", moved.Seq)}
		}
	}
	return &BrokenError{r.Seq, Changed, "its content does not match its hash"}
}

// CheckHead returns a *BrokenError if the log does not have a head noted earlier. It finds a head
// without a number by its hash. It does not check the chain: call Verify first.
func (s *Store) CheckHead(ctx context.Context, noted Head) error {
	if noted.Hash == zeroHash && noted.Seq == 0 {
		return nil
	}
	var seq int64
	err := s.read.QueryRowContext(ctx, `SELECT seq FROM decisions WHERE hash = $1 ORDER BY seq LIMIT 1`, noted.Hash).Scan(&seq)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return &BrokenError{noted.Seq, Missing, "no decision has the hash " + noted.Hash + "; the end of the log was deleted, or the log was rewritten"}
	case err != nil:
		return s.readError(err)
	case noted.Seq != 0 && seq != noted.Seq:
		return &BrokenError{seq, OutOfOrder, fmt.Sprintf("the noted head says %d", noted.Seq)}
	}
	return nil
}
