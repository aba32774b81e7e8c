package core

import (
	"context"
	"sync"
	"time"
)

const (
	// KillGrace is the time that a part has after its grace, to kill processes that have not ended.
	KillGrace = time.Second
	// StateGrace is the time at the end for what the state did not take before: decisions, sessions, transcripts.
	StateGrace = 3 * time.Second
)

// Part is a part of the bridge that does not need the state to end.
type Part struct {
	Grace time.Duration
	Close func(context.Context)
}

// Ending closes the parts of a conversation in three steps. The state comes last and has a time of its own, so
// that an agent, a tool or a collector that ignores its end takes nothing from it.
type Ending struct {
	Workers   []Part                  // what may still call, ask and decide
	Recorders []Part                  // what also gets the last decisions of the workers
	State     []func(context.Context) // what writes to the state, in this order
}

// CloseParts closes the workers, then the recorders.
func (e *Ending) CloseParts(others ...Part) {
	CloseTogether(append(others, e.Workers...))
	CloseTogether(e.Recorders)
}

// CloseState writes the rest to the state, until StateGrace is over. last are closed after the conversation's own.
func (e *Ending) CloseState(last ...func(context.Context)) {
	ctx, cancel := context.WithTimeout(context.Background(), StateGrace) // one for all: each would wait for the same lock
	defer cancel()
	for _, end := range append(e.State, last...) {
		end(ctx)
	}
}

// CloseTogether closes parts at the same time. It waits for each at most for its grace and KillGrace: a part that then
// still hangs, for example on a disk, goes on beside.
func CloseTogether(parts []Part) {
	var ends sync.WaitGroup
	for _, p := range parts {
		ends.Go(func() { p.end() })
	}
	ends.Wait()
}

func (p Part) end() {
	ctx, cancel := context.WithTimeout(context.Background(), p.Grace)
	defer cancel()
	ended := make(chan struct{})
	go func() { // ends with the part
		defer close(ended)
		p.Close(ctx)
	}()
	select {
	case <-ended:
	case <-time.After(p.Grace + KillGrace):
	}
}
