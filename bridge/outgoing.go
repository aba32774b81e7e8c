package bridge

import (
	"context"
	"errors"
	"time"
)

// maxWriteWait is how long the bridge waits for a side to read a line. A client that reads gets a
// request before the notice that it was resolved, even if the timeout was very short.
const maxWriteWait = 250 * time.Millisecond

// outgoing is the queue of lines for one side. One goroutine at a time writes. The
// conversation's mutex guards it.
type outgoing struct {
	c     *conversation
	write func(line []byte) error

	lines  []*outgoingLine // queued, without the one being written
	queued int             // lines of enqueue, queued or being written
	bytes  int             // their size in memory

	writing  bool   // a goroutine is writing
	writes   uint64 // number of lines written
	slow     bool   // a wait has failed since the last write
	dropping bool   // the last notification was dropped
}

// outgoingLine is one line in an outgoing queue.
type outgoingLine struct {
	line    []byte
	sync    bool          // send waits for the write, so the line does not count in queued
	err     error         // of the write; valid after written is closed
	written chan struct{} // closed when the line is written
}

// lineOverhead is what a queued line needs in addition to its text, in bytes: an outgoingLine, its channel, its
// place in the queue, and the rounding of the allocations. Most lines are short.
const lineOverhead = 256

func sizeOf(line []byte) int { return len(line) + lineOverhead }

var errWithdrawn = errors.New("not written in time")

// enqueue queues a line and does not wait.
func (o *outgoing) enqueue(line []byte) *outgoingLine {
	o.c.mu.Lock()
	defer o.c.mu.Unlock()
	return o.enqueueLocked(line)
}

func (o *outgoing) enqueueLocked(line []byte) *outgoingLine {
	next := &outgoingLine{line: line, written: make(chan struct{})}
	o.queued++
	o.bytes += sizeOf(line)
	o.add(next)
	return next
}

// add queues a line. The lock must be held.
func (o *outgoing) add(next *outgoingLine) {
	o.lines = append(o.lines, next)
	if !o.writing {
		o.writing = true
		go o.writeQueued() // ends when the queue is empty
	}
}

// send writes a line and waits for the write. If ctx ends while the line is queued, the line is
// not written and the error is errWithdrawn.
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
		go o.writeQueued() // ends when the queue is empty
	}
	return err
}

// isFull reports whether the queue has no room for a droppable line of that size. The lock
// must be held.
func (o *outgoing) isFull(size int) bool { return o.bytes > 0 && o.bytes+size > maxToClient }

// withdraw removes a queued line of send. It returns false if the line is being written.
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

// notify queues a notification, and waits up to maxWriteWait for the write. It does not wait
// after another wait has just failed. If the queue is full it drops the notification; it
// calls dropped for the first one until there is room again.
func (o *outgoing) notify(line []byte, dropped func()) {
	o.c.mu.Lock()
	if o.queued > maxNotifications || o.queued > 0 && o.bytes+sizeOf(line) > maxNotificationBytes {
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

// awaitWritten waits up to maxWriteWait for the write of a line. It must not be called while
// slow is set.
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

// awaitIdle waits until the queue is empty.
func (o *outgoing) awaitIdle() { o.c.await(func() bool { return !o.writing }) }

// awaitWrite waits for the end of the current write, if any.
func (o *outgoing) awaitWrite() {
	o.c.mu.Lock()
	defer o.c.mu.Unlock()
	for writes := o.writes; o.writing && o.writes == writes; {
		o.c.changed.Wait()
	}
}

// noteWritten records a write. The lock must be held.
func (o *outgoing) noteWritten() {
	o.writes++
	o.slow = false
	o.c.changed.Broadcast()
}

// writeQueued writes the queued lines. Its caller has set writing.
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
			o.bytes -= sizeOf(next.line)
		}
		o.noteWritten()
		close(next.written)
	}
	o.lines, o.writing = nil, false
	o.c.changed.Broadcast()
}
