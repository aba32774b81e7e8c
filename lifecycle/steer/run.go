package steer

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"codex-bridge/lifecycle/turn"
)

// retryAfter is for a review or a compaction of which nothing has been told yet.
const retryAfter = time.Second

// act is what is to be done next.
type act uint8

const (
	wait act = iota
	join
	begin
	strike
)

// Run sends what comes, until ctx ends; what waits then, or was lost, gets ctx's cause for an
// answer.
func (b *Box) Run(ctx context.Context) {
	for ctx.Err() == nil {
		changed := b.o.Thread.Changed()
		todo, batch, running, again := b.next()
		switch todo {
		case wait:
			b.sleep(ctx, changed, again)
		case join:
			b.steer(ctx, running, batch)
		case begin:
			if !b.start(ctx, batch) {
				b.sleep(ctx, changed, retryAfter)
			}
		case strike:
			b.strike(ctx, running, batch)
		}
	}
	b.giveUp(context.Cause(ctx))
}

// sleep waits for a change; again is 0 when time changes nothing.
func (b *Box) sleep(ctx context.Context, changed <-chan struct{}, again time.Duration) {
	var alarm <-chan time.Time
	if again > 0 {
		timer := time.NewTimer(again)
		defer timer.Stop()
		alarm = timer.C
	}
	select {
	case <-changed:
	case <-b.wake:
	case <-alarm:
	case <-ctx.Done():
	}
}

// next finds what to do. That a turn runs is asked before what it has lost is taken back:
// so what it has lost is in line when the next one is seen.
func (b *Box) next() (todo act, messages []*waiting, running string, again time.Duration) {
	running, open := b.o.Thread.Turn()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.takeLost()
	again = b.ripen()
	if b.stopped {
		return wait, nil, running, 0
	}
	if len(b.line) == 0 || !b.line[0].due {
		return wait, nil, running, again
	}
	if running == "" {
		return begin, b.batch(false), "", 0
	}
	if due := b.dueUntilInterrupt(); due != nil {
		return strike, due, running, 0
	}
	if open && b.line[0].Mode == Steer {
		return join, b.batch(true), running, 0
	}
	for _, w := range b.line {
		if w.due && !w.struck { // those behind wait, too, and their senders need not
			w.tell(Result{Disposition: Queued}, nil)
		}
	}
	return wait, nil, running, again
}

// takeLost puts what a turn has lost before all that waits. Who sent it has been told that
// the turn has it; the next one will.
func (b *Box) takeLost() {
	var lost []*waiting
	b.sent = slices.DeleteFunc(b.sent, func(s batch) bool {
		fate := s.sent.Fate()
		if fate == turn.Lost {
			lost = append(lost, s.messages...)
		}
		return fate != turn.Open
	})
	for _, w := range lost {
		if b.bytes += w.size; w.Mode == Steer {
			w.Mode = Followup
		}
		w.going = false
	}
	b.line = append(lost, b.line...)
}

// ripen marks what has waited long enough, and tells how long the rest has to wait.
func (b *Box) ripen() time.Duration {
	left := time.Until(b.quiet)
	if left > 0 && len(b.line) < mostAtOnce {
		return left
	}
	for _, w := range b.line {
		w.due = true
	}
	return 0
}

// dueUntilInterrupt are the messages up to the last that interrupts; nil when none does.
func (b *Box) dueUntilInterrupt() []*waiting {
	for i := len(b.line) - 1; i >= 0; i-- {
		if b.line[i].due && b.line[i].Mode == Interrupt {
			return slices.Clone(b.line[:i+1])
		}
	}
	return nil
}

// batch are the first messages that may go together.
func (b *Box) batch(joins bool) (out []*waiting) {
	size := 0
	for _, w := range b.line {
		if !w.due || len(out) == mostAtOnce || len(out) > 0 && size+w.size > batchBytes {
			break
		}
		if joins && w.Mode != Steer || !joins && w.Mode == Queue && len(out) > 0 {
			break
		}
		w.going, size, out = true, size+w.size, append(out, w)
		if w.Mode == Queue {
			break
		}
	}
	return out
}

func input(messages []*waiting) (items []json.RawMessage) {
	for _, w := range messages {
		items = append(items, w.Input...)
	}
	return items
}

// steer sends messages to the running turn. What it refuses waits for its end.
func (b *Box) steer(ctx context.Context, running string, messages []*waiting) {
	sent, err := b.o.Thread.Steer(ctx, running, input(messages))
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.gone(messages, Result{Steered, sent.Turn}, sent)
		return
	}
	for _, w := range messages {
		w.Mode, w.going = Followup, false
	}
}

// start starts a turn with messages; false: another is running that takes none.
func (b *Box) start(ctx context.Context, messages []*waiting) bool {
	params, err := b.o.Start(input(messages))
	var sent *turn.Sent
	if err == nil {
		sent, err = b.o.Thread.TryStart(ctx, params)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case err == nil:
		b.gone(messages, Result{Started, sent.Turn}, sent)
	case errors.Is(err, turn.ErrBusy):
		for _, w := range messages {
			w.going = false
		}
		return false
	default:
		for _, w := range messages {
			b.fail(w, err)
		}
	}
	return true
}

// strike interrupts the running turn; what waits until then starts the next.
func (b *Box) strike(ctx context.Context, running string, messages []*waiting) {
	err := b.o.Thread.Interrupt(ctx, running)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range messages {
		if err != nil && w.Mode == Interrupt {
			b.fail(w, err)
			continue
		}
		if w.Mode != Queue {
			w.struck = w.struck || w.Mode == Interrupt
			w.Mode = Followup
		}
	}
}

// gone takes messages out of the line that Codex has.
func (b *Box) gone(messages []*waiting, r Result, sent *turn.Sent) {
	for _, w := range messages {
		b.remove(w)
		w.tell(r, nil)
	}
	b.sent = append(b.sent, batch{messages, sent})
}

func (b *Box) fail(w *waiting, err error) {
	b.remove(w)
	if !w.tell(Result{}, err) {
		b.o.Failed(w.Message, err)
	}
}

// Stop has nothing more sent. What becomes of what the thread has is still to be told; then
// Run's ctx has to end.
func (b *Box) Stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = true
}

func (b *Box) giveUp(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.takeLost()
	for _, w := range slices.Clone(b.line) {
		b.fail(w, err)
	}
}
