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

// Run sends the messages until ctx ends. The messages that wait then, or were lost, fail with
// ctx's cause.
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
	b.failAll(context.Cause(ctx))
}

// sleep waits for a change, at most for again; 0 means without a limit.
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

// next returns the next step. It reads the running turn before it requeues lost input: input that
// a turn has lost is then in the queue before the next turn is seen.
func (b *Inbox) next() (todo action, messages []*waiting, running string, again time.Duration) {
	running, open := b.o.Thread.Turn()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.takeLost()
	again = b.markDue()
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
		if w.due && !w.hasInterrupted { // later messages wait too, and their senders need not
			w.answer(Delivery{Disposition: DispositionQueued}, nil)
		}
	}
	return actionWait, nil, running, again
}

// takeLost puts lost input before all waiting messages. Its senders were told that the turn has
// it, so the next turn gets it.
func (b *Inbox) takeLost() {
	var lost []*waiting
	b.sent = slices.DeleteFunc(b.sent, func(s batch) bool {
		fate := s.sent.currentFate()
		if fate == fateLost {
			lost = append(lost, s.messages...)
		}
		return fate != fatePending
	})
	for _, w := range lost {
		if b.bytes += w.size; w.Mode == ModeSteer {
			w.Mode = ModeFollowup
		}
		w.sending = false
	}
	b.line = append(lost, b.line...)
}

// markDue marks the messages as due when the quiet time is over, or returns the remaining time.
func (b *Inbox) markDue() time.Duration {
	left := time.Until(b.quiet)
	if left > 0 && len(b.line) < maxBatch {
		return left
	}
	for _, w := range b.line {
		w.due = true
	}
	return 0
}

// dueUntilInterrupt returns the due messages up to the last that interrupts; nil if none does.
func (b *Inbox) dueUntilInterrupt() []*waiting {
	for i := len(b.line) - 1; i >= 0; i-- {
		if b.line[i].due && b.line[i].Mode == ModeInterrupt {
			return slices.Clone(b.line[:i+1])
		}
	}
	return nil
}

// batch returns the first messages that may be sent in one request and marks them as sending.
// joins is true for turn/steer.
func (b *Inbox) batch(joins bool) (out []*waiting) {
	size := 0
	for _, w := range b.line {
		if !w.due || len(out) == maxBatch || len(out) > 0 && size+w.size > maxBatchBytes {
			break
		}
		if joins && w.Mode != ModeSteer || !joins && w.Mode == ModeQueue && len(out) > 0 {
			break
		}
		w.sending, size, out = true, size+w.size, append(out, w)
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

// steer sends messages to the running turn. Messages that Codex refuses wait for the turn's end.
func (b *Inbox) steer(ctx context.Context, running string, messages []*waiting) {
	sent, err := b.o.Thread.steer(ctx, running, joinInput(messages))
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.markSent(messages, Delivery{DispositionSteered, sent.Turn}, sent)
		return
	}
	for _, w := range messages {
		w.Mode, w.sending = ModeFollowup, false
	}
}

// start starts a turn with messages. It returns false if another turn is running.
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
		b.markSent(messages, Delivery{DispositionStarted, sent.Turn}, sent)
	case errors.Is(err, errBusy):
		for _, w := range messages {
			w.sending = false
		}
		return false
	default:
		for _, w := range messages {
			b.fail(w, err)
		}
	}
	return true
}

// interrupt interrupts the running turn. The messages start the next turn.
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
			w.hasInterrupted = w.hasInterrupted || w.Mode == ModeInterrupt
			w.Mode = ModeFollowup
		}
	}
}

// markSent removes messages that Codex has accepted from the queue.
func (b *Inbox) markSent(messages []*waiting, r Delivery, sent *sentInput) {
	for _, w := range messages {
		b.remove(w)
		w.answer(r, nil)
	}
	b.sent = append(b.sent, batch{messages, sent})
}

func (b *Inbox) fail(w *waiting, err error) {
	b.remove(w)
	if !w.answer(Delivery{}, err) {
		b.o.Failed(w.Message, err)
	}
}

// Stop ends the sending of messages. Run still follows the input that was sent; end Run's ctx
// after that.
func (b *Inbox) Stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = true
}

func (b *Inbox) failAll(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.takeLost()
	for _, w := range slices.Clone(b.line) {
		b.fail(w, err)
	}
}
