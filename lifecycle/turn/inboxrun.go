package turn

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// action is the next step of Run.
type action uint8

const (
	actionWait action = iota
	actionSteer
	actionStart
	actionInterrupt
)

// Run sends what comes, until ctx ends; what waits then, or was lost, gets ctx's cause for an
// answer.
func (b *Inbox) Run(ctx context.Context) {
	for ctx.Err() == nil {
		changed := b.o.Thread.Changed()
		todo, batch, running, again := b.next()
		switch todo {
		case actionWait:
			b.sleep(ctx, changed, again)
		case actionSteer:
			b.steer(ctx, running, batch)
		case actionStart:
			if !b.start(ctx, batch) {
				b.sleep(ctx, changed, retryAfter)
			}
		case actionInterrupt:
			b.interrupt(ctx, running, batch)
		}
	}
	b.giveUp(context.Cause(ctx))
}

// sleep waits for a change; again is 0 when time changes nothing.
func (b *Inbox) sleep(ctx context.Context, changed <-chan struct{}, again time.Duration) {
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
func (b *Inbox) next() (todo action, messages []*waiting, running string, again time.Duration) {
	running, open := b.o.Thread.Turn()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.takeLost()
	again = b.ripen()
	if b.stopped {
		return actionWait, nil, running, 0
	}
	if len(b.line) == 0 || !b.line[0].due {
		return actionWait, nil, running, again
	}
	if running == "" {
		return actionStart, b.batch(false), "", 0
	}
	if due := b.dueUntilInterrupt(); due != nil {
		return actionInterrupt, due, running, 0
	}
	if open && b.line[0].Mode == ModeSteer {
		return actionSteer, b.batch(true), running, 0
	}
	for _, w := range b.line {
		if w.due && !w.struck { // those behind wait, too, and their senders need not
			w.tell(Delivery{Disposition: DispositionQueued}, nil)
		}
	}
	return actionWait, nil, running, again
}

// takeLost puts what a turn has lost before all that waits. Who sent it has been told that
// the turn has it; the next one will.
func (b *Inbox) takeLost() {
	var lost []*waiting
	b.sent = slices.DeleteFunc(b.sent, func(s batch) bool {
		fate := s.sent.currentFate()
		if fate == fateLost {
			lost = append(lost, s.messages...)
		}
		return fate != fateOpen
	})
	for _, w := range lost {
		if b.bytes += w.size; w.Mode == ModeSteer {
			w.Mode = ModeFollowup
		}
		w.going = false
	}
	b.line = append(lost, b.line...)
}

// ripen marks what has waited long enough, and tells how long the rest has to wait.
func (b *Inbox) ripen() time.Duration {
	left := time.Until(b.quiet)
	if left > 0 && len(b.line) < maxBatch {
		return left
	}
	for _, w := range b.line {
		w.due = true
	}
	return 0
}

// dueUntilInterrupt are the messages up to the last that interrupts; nil when none does.
func (b *Inbox) dueUntilInterrupt() []*waiting {
	for i := len(b.line) - 1; i >= 0; i-- {
		if b.line[i].due && b.line[i].Mode == ModeInterrupt {
			return slices.Clone(b.line[:i+1])
		}
	}
	return nil
}

// batch are the first messages that may go together.
func (b *Inbox) batch(joins bool) (out []*waiting) {
	size := 0
	for _, w := range b.line {
		if !w.due || len(out) == maxBatch || len(out) > 0 && size+w.size > maxBatchBytes {
			break
		}
		if joins && w.Mode != ModeSteer || !joins && w.Mode == ModeQueue && len(out) > 0 {
			break
		}
		w.going, size, out = true, size+w.size, append(out, w)
		if w.Mode == ModeQueue {
			break
		}
	}
	return out
}

func joinInput(messages []*waiting) (items []json.RawMessage) {
	for _, w := range messages {
		items = append(items, w.Input...)
	}
	return items
}

// steer sends messages to the running turn. What it refuses waits for its end.
func (b *Inbox) steer(ctx context.Context, running string, messages []*waiting) {
	sent, err := b.o.Thread.steer(ctx, running, joinInput(messages))
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.gone(messages, Delivery{DispositionSteered, sent.Turn}, sent)
		return
	}
	for _, w := range messages {
		w.Mode, w.going = ModeFollowup, false
	}
}

// start starts a turn with messages; false: another is running that takes none.
func (b *Inbox) start(ctx context.Context, messages []*waiting) bool {
	params, err := b.o.Start(joinInput(messages))
	var sent *sentInput
	if err == nil {
		sent, err = b.o.Thread.tryStart(ctx, params)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case err == nil:
		b.gone(messages, Delivery{DispositionStarted, sent.Turn}, sent)
	case errors.Is(err, errBusy):
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

// interrupt interrupts the running turn; what waits until then starts the next.
func (b *Inbox) interrupt(ctx context.Context, running string, messages []*waiting) {
	err := b.o.Thread.Interrupt(ctx, running)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range messages {
		if err != nil && w.Mode == ModeInterrupt {
			b.fail(w, err)
			continue
		}
		if w.Mode != ModeQueue {
			w.struck = w.struck || w.Mode == ModeInterrupt
			w.Mode = ModeFollowup
		}
	}
}

// gone takes messages out of the line that Codex has.
func (b *Inbox) gone(messages []*waiting, r Delivery, sent *sentInput) {
	for _, w := range messages {
		b.remove(w)
		w.tell(r, nil)
	}
	b.sent = append(b.sent, batch{messages, sent})
}

func (b *Inbox) fail(w *waiting, err error) {
	b.remove(w)
	if !w.tell(Delivery{}, err) {
		b.o.Failed(w.Message, err)
	}
}

// Stop has nothing more sent. What becomes of what the thread has is still to be told; then
// Run's ctx has to end.
func (b *Inbox) Stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = true
}

func (b *Inbox) giveUp(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.takeLost()
	for _, w := range slices.Clone(b.line) {
		b.fail(w, err)
	}
}
