package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"codex-bridge.example/bridge/decision"
)

// extraSeq is the range beyond the number of entries that diagnose tries.
const extraSeq = 1000

// Verify checks the whole chain, about 100,000 decisions per second, and returns its head. A
// *BrokenError names the first decision that was changed, deleted, inserted or moved.
//
// The chain itself can't show that its end was deleted, or that a user with write access rewrote it
// from some entry on. A head noted elsewhere shows both: see CheckHead.
func (s *Store) Verify(ctx context.Context) (decision.Head, error) {
	head := decision.Head{Hash: decision.NoHead.Hash}
	for r, err := range s.readRows(ctx, Filter{}) {
		if err != nil {
			return head, err
		}
		if err := s.checkLink(ctx, head, r); err != nil {
			return head, err
		}
		head = decision.Head{Seq: r.Seq, Hash: r.Hash}
	}
	return head, nil
}

// checkLink returns an error unless r was written directly after head.
func (s *Store) checkLink(ctx context.Context, head decision.Head, r row) error {
	if err := head.CheckSeq(r.Seq); err != nil {
		return err
	}
	sum, err := r.Sum()
	if err != nil {
		return err
	}
	if !r.intact || sum != r.Hash {
		return s.diagnose(ctx, r)
	}
	return head.CheckPrevious(r.Entry)
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
		if sum, err := moved.Sum(); err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		} else if sum == r.Hash {
			return &decision.BrokenError{Seq: r.Seq, Problem: decision.OutOfOrder, Detail: fmt.Sprintf("it was written as %d", moved.Seq)}
		}
	}
	return &decision.BrokenError{Seq: r.Seq, Problem: decision.Changed, Detail: "its content does not match its hash"}
}

// CheckHead returns a *BrokenError if the log does not have a head noted earlier. It finds a head
// without a number by its hash. It does not check the chain: call Verify first.
func (s *Store) CheckHead(ctx context.Context, noted decision.Head) error {
	if noted.Hash == decision.NoHead.Hash && noted.Seq == 0 {
		return nil
	}
	var seq int64
	err := s.read.QueryRowContext(ctx, `SELECT seq FROM decisions WHERE hash = $1 ORDER BY seq LIMIT 1`, noted.Hash).Scan(&seq)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return &decision.BrokenError{Seq: noted.Seq, Problem: decision.Missing, Detail: "no decision has the hash " + noted.Hash + "; the end of the log was deleted, or the log was rewritten"}
	case err != nil:
		return s.readError(err)
	case noted.Seq != 0 && seq != noted.Seq:
		return &decision.BrokenError{Seq: seq, Problem: decision.OutOfOrder, Detail: fmt.Sprintf("the noted head says %d", noted.Seq)}
	}
	return nil
}
