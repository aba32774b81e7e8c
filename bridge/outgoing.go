package bridge

import (
	"context"
	"errors"
	"time"
)

// soon is how long a side that reads may take to be told something: it should hear of a
// question before it hears that this is over, however short its time was.
const maxWriteWait = 250 * time.Millisecond

// outgoing are the lines for one side, in the order in which they are put. One goroutine
// at a time writes. The conversation's mutex guards it.
type outgoing struct {
	c     *conversation
	write func(line []byte) error

	lines    []*outgoingLine // that wait; not the one that is written
	queued   int             // lines of put that wait or are written: nobody waits with them
	bytes    int             // of those
	writing  bool            // a line is written
	writes   uint64          // how many lines were written
	slow     bool            // somebody has waited in vain since the last line was written
	dropping bool            // the last notification was dropped
}

// outgoingLine is a line on its way out.
type outgoingLine struct {
	line    []byte
	sync    bool          // its sender waits
	err     error         // of the write; valid once written is closed
	written chan struct{} // closed when the line is written
}

var errWithdrawn = errors.New("not written in time")

// put has a line written, and does not wait.
func (o *outgoing) enqueue(line []byte) *outgoingLine {
	o.c.mu.Lock()
	defer o.c.mu.Unlock()
	return o.enqueueLocked(line)
}

func (o *outgoing) enqueueLocked(line []byte) *outgoingLine {
	next := &outgoingLine{line: line, written: make(chan struct{})}
	o.queued++
	o.bytes += len(line)
	o.add(next)
	return next
}

// add is called with the lock held.
func (o *outgoing) add(next *outgoingLine) {
	o.lines = append(o.lines, next)
	if !o.writing {
		o.writing = true
		go o.writeQueued() // ends when no line waits
	}
}

// send writes a line and waits until it is written. Where ctx ends before its turn comes
// the line is not written: errWithdrawn.
func (o *outgoing) send(ctx context.Context, line []byte) error {
	o.c.mu.Lock()
	if o.writing {
		next := &outgoingLine{line: line, sync: true, written: make(chan struct{})}
		o.add(next)
		o.c.mu.Unlock()
		select {
		case <-next.written:
			return next.err
		case <-ctx.Done():
			if o.withdraw(next) {
				return errWithdrawn
			}
			<-next.written
			return next.err
		}
	}
	o.writing = true
	o.c.mu.Unlock()
	err := o.write(line)
	o.c.mu.Lock()
	defer o.c.mu.Unlock()
	o.noteWritten()
	if len(o.lines) == 0 {
		o.writing = false
	} else {
		go o.writeQueued() // ends when no line waits
	}
	return err
}

// isFull reports whether a line that may be left out is too much. It is called with the
// lock held.
func (o *outgoing) isFull(size int) bool { return o.bytes > 0 && o.bytes+size > maxToClient }

// withdraw takes a line of send back that is not being written yet.
func (o *outgoing) withdraw(target *outgoingLine) bool {
	o.c.mu.Lock()
	defer o.c.mu.Unlock()
	for i, queued := range o.lines {
		if queued == target {
			o.lines = append(o.lines[:i:i], o.lines[i+1:]...)
			o.c.changed.Broadcast()
			return true
		}
	}
	return false
}

// tell is put for a notification, which is dropped where too much waits already; dropped
// is called then, once until there is room again. tell waits until the line is written,
// soon at most, and not where another waited in vain just before.
func (o *outgoing) notify(line []byte, dropped func()) {
	o.c.mu.Lock()
	if o.queued > maxNotifications || o.queued > 0 && o.bytes+len(line) > maxNotificationBytes {
		first := !o.dropping
		o.dropping = true
		o.c.mu.Unlock()
		if first {
			dropped()
		}
		return
	}
	o.dropping = false
	next, slow := o.enqueueLocked(line), o.slow
	o.c.mu.Unlock()
	if !slow {
		o.awaitWritten(next)
	}
}

// seen waits until a line is written, soon at most. It is not called while late is set: the
// last wait was in vain.
func (o *outgoing) awaitWritten(next *outgoingLine) {
	timer := time.NewTimer(maxWriteWait)
	defer timer.Stop()
	select {
	case <-next.written:
	case <-timer.C:
		o.c.mu.Lock()
		o.slow = true
		o.c.mu.Unlock()
	}
}

// idle waits until no line waits.
func (o *outgoing) awaitIdle() { o.c.await(func() bool { return !o.writing }) }

// unblocked waits for the write under way, if there is one.
func (o *outgoing) awaitWrite() {
	o.c.mu.Lock()
	defer o.c.mu.Unlock()
	for writes := o.writes; o.writing && o.writes == writes; {
		o.c.changed.Wait()
	}
}

// wrote takes note of a line that was written. It is called with the lock held.
func (o *outgoing) noteWritten() {
	o.writes++
	o.slow = false
	o.c.changed.Broadcast()
}

// drain writes the lines that wait. Its caller has set busy.
func (o *outgoing) writeQueued() {
	o.c.mu.Lock()
	defer o.c.mu.Unlock()
	for len(o.lines) > 0 {
		next := o.lines[0]
		o.lines[0] = nil
		o.lines = o.lines[1:]
		o.c.mu.Unlock()
		next.err = o.write(next.line)
		o.c.mu.Lock()
		if !next.sync {
			o.queued--
			o.bytes -= len(next.line)
		}
		o.noteWritten()
		close(next.written)
	}
	o.lines, o.writing = nil, false
	o.c.changed.Broadcast()
}
