package main

import (
	"context"
	"sync"
	"time"
)

const (
	// endGrace is how long a bridge takes at most to end after its Codex: agents are its slowest workers.
	endGrace = agentsGrace + recordersGrace + 2*killGrace + stateGrace
	// recordersGrace is how long a recorder, such as the telemetry, may delay the end of the bridge.
	recordersGrace = 2 * time.Second
	// turnsGrace is how long turns that the client has left may take to end.
	turnsGrace = 2 * time.Second
	// killGrace is the time that a part has after its grace, to kill processes that have not ended.
	killGrace = time.Second
)

// part is a part of the bridge that does not need the state to end.
type part struct {
	grace time.Duration
	close func(context.Context)
}

// ending closes the parts of a conversation in three steps. The state comes last and has a time of its own, so
// that an agent, a tool or a collector that ignores its end takes nothing from it.
type ending struct {
	workers   []part                  // what may still call, ask and decide
	recorders []part                  // what also gets the last decisions of the workers
	state     []func(context.Context) // what writes to the state, in this order
}

// closeParts closes the workers, then the recorders.
func (e *ending) closeParts(others ...part) {
	closeTogether(append(others, e.workers...))
	closeTogether(e.recorders)
}

// closeState writes the rest to the state, until stateGrace is over. last are closed after the conversation's own.
func (e *ending) closeState(last ...func(context.Context)) {
	ctx, cancel := context.WithTimeout(context.Background(), stateGrace) // one for all: each would wait for the same lock
	defer cancel()
	for _, end := range append(e.state, last...) {
		end(ctx)
	}
}

// closeTogether closes parts at the same time. It waits for each at most for its grace and killGrace: a part that then
// still hangs, for example on a disk, goes on beside.
func closeTogether(parts []part) {
	var ends sync.WaitGroup
	for _, p := range parts {
		ends.Go(func() { p.end() })
	}
	ends.Wait()
}

func (p part) end() {
	ctx, cancel := context.WithTimeout(context.Background(), p.grace)
	defer cancel()
	ended := make(chan struct{})
	go func() { // ends with the part
		defer close(ended)
		p.close(ctx)
	}()
	select {
	case <-ended:
	case <-time.After(p.grace + killGrace):
	}
}
