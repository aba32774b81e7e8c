package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
)

// leaseKey is the lease of the process that ships. No session has a control character in its key.
const leaseKey = "\tfleet"

// BusyError means that another process ships this log.
type BusyError struct{ Holder store.Holder }

func (e *BusyError) Error() string { return "another process ships this log: " + e.Holder.String() }

// Result is what Ship has done.
type Result struct {
	Acknowledged int64         // entries that were acknowledged now
	Lost         int64         // entries that the fleet log had lost, and has again if they are acknowledged
	Head         decision.Head // the last acknowledged entry
}

// Ship sends the entries that the sink has not acknowledged. With ask it also asks a sink that should
// have all of them. The log stores the last acknowledged entry and the error. One process at a time ships a
// log; for another one the error is a *BusyError.
func Ship(ctx context.Context, log Log, sink Sink, from Sender, ask bool) (Result, error) {
	state, err := log.Shipping(ctx, sink.Location())
	if err != nil {
		return Result{}, err
	}
	r := Result{Head: state.Head}
	if !ask {
		waiting, err := log.SealedAfter(ctx, state.Head, 1, 1)
		if err == nil && len(waiting) == 0 {
			return r, nil
		}
	}
	here, err := store.CurrentProcess()
	if err != nil {
		return r, err
	}
	err = log.AcquireLease(ctx, leaseKey, here, time.Now())
	if held := (*store.HeldError)(nil); errors.As(err, &held) {
		return r, &BusyError{held.Holder}
	}
	if err != nil {
		return r, err
	}
	err = r.send(ctx, log, sink, from)
	sink.Close()
	if err != nil && ctx.Err() == nil {
		err = errors.Join(err, noteError(ctx, log, sink, err))
	}
	return r, errors.Join(err, log.ReleaseLease(context.WithoutCancel(ctx), leaseKey, here))
}

// send sends batches until the sink has the whole log. This process has the lease.
func (r *Result) send(ctx context.Context, log Log, sink Sink, from Sender) error {
	b := Batch{Sender: from}
	state, err := log.Shipping(ctx, sink.Location()) // again: another process may have had the lease
	if err != nil {
		return err
	}
	if b.Chain, err = log.Chain(ctx); err != nil {
		return err
	}
	b.After, r.Head = state.Head, state.Head
	if b.Entries, err = log.SealedAfter(ctx, b.After, maxBatch, maxBatchBytes); err != nil {
		return fmt.Errorf("nothing is sent: %w", err)
	}
	for {
		head, err := sendBatch(ctx, sink, b)
		if err != nil {
			return err
		}
		next, err := log.SealedAfter(ctx, head, maxBatch, maxBatchBytes)
		if broken := (*decision.BrokenError)(nil); errors.As(err, &broken) && broken.Seq == head.Seq {
			return &ForkError{sink.Location(), b.Chain, fmt.Sprintf("the fleet log has the decision %d with the hash %s, and this log has another one, or none", head.Seq, head.Hash)}
		}
		if err != nil {
			return fmt.Errorf("nothing more is sent: %w", err)
		}
		switch {
		case head.Seq > b.After.Seq:
			r.Acknowledged += head.Seq - b.After.Seq
		case head.Seq < b.After.Seq && r.Lost == 0:
			r.Lost = b.After.Seq - head.Seq
		case len(next) > 0:
			return fmt.Errorf("%s keeps no decision after %d", sink.Location(), head.Seq)
		}
		r.Head = head
		if err := log.SetShipping(ctx, sink.Location(), store.Shipping{Head: head, Acknowledged: time.Now()}); err != nil {
			return err
		}
		if len(next) == 0 {
			return nil
		}
		b.After, b.Entries = head, next
	}
}

func sendBatch(ctx context.Context, sink Sink, b Batch) (decision.Head, error) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	return sink.Send(ctx, b)
}

// noteError writes the error for doctor and bridge/status, unless it is there.
func noteError(ctx context.Context, log Log, sink Sink, failure error) error {
	state, err := log.Shipping(ctx, sink.Location())
	if err != nil || state.Error == failure.Error() {
		return err
	}
	state.Error, state.Failed = failure.Error(), time.Now()
	return log.SetShipping(ctx, sink.Location(), state)
}
