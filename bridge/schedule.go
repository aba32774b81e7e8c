package bridge

import (
	"context"
	"strconv"

	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/rpc"
)

// schedule decides when a message of the client is handled. Handling may wait for Codex or for
// a disk. The package documentation states the order. The conversation's mutex guards it.
type schedule struct {
	// lanes are the lanes with a message being handled, and the messages queued behind it.
	lanes map[string][]*entry
	// yielding are the messages being handled that let reads pass, by lane.
	yielding map[string]*entry
	// backlog is the queue behind an exclusive message that is handled, or is first in it.
	backlog       []*entry
	exclusive     bool // an exclusive message is being handled
	entries       int  // messages queued or being handled
	bytes         int  // their size
	parallelLanes int  // number of lanes created for parallel messages
}

// entry is a message in the schedule.
type entry struct {
	order
	bytes int
	start func() // called in a new goroutine if the message has to wait
	ended bool
}

// order determines which other messages a message waits for.
type order struct {
	lane string // messages of one lane are handled one after the other
	// parallel: the message waits for its lane, but the next message does not wait for it.
	parallel bool
	// exclusive: all earlier messages are handled first, and later ones wait.
	exclusive bool
	// immediate: a response or an interrupt, which does not wait.
	immediate bool
	// unbounded: the limits do not apply.
	unbounded bool
	// reads: a request that changes nothing. It does not wait for a message that lets reads pass.
	reads bool
}

const (
	sharedLane      = ""        // messages without a thread
	unsolicitedLane = "answers" // responses without a pending request
	threadLane      = "thread " // + thread id
	parallelLane    = "alone "  // + number

	maxEntries = 4096 // messages queued or being handled
	// maxWaiting is their maximum size in bytes, besides one message of Options.MaxMessage.
	maxWaiting = 16 << 20
)

func newSchedule() schedule {
	return schedule{lanes: make(map[string][]*entry), yielding: make(map[string]*entry)}
}

// orderOf returns the order of a request or notification.
func (p *Proxy) orderOf(m *rpc.Message) order {
	switch {
	case m.Method == "initialize" || m.Method == "initialized":
		return order{exclusive: true}
	case p.isUrgent(m.Method):
		return order{immediate: true}
	}
	reads := p.opts.Reads != nil && p.opts.Reads(m.Method)
	if id, ok := m.Params.Get("threadId").Text(); ok {
		return order{lane: threadLane + id, reads: reads}
	}
	return order{lane: sharedLane, parallel: m.Method == "thread/start", reads: reads}
}

// isIdle reports whether no message is queued or being handled.
func (c *conversation) isIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.schedule.entries == 0
}

// enqueue adds a message. now reports whether it need not wait; otherwise t.start is called
// later. The caller calls dequeue after handling it. Beyond the limits the message is refused.
func (c *conversation) enqueue(t *entry, maxBytes int) (now bool, refused *rpc.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.schedule
	maxEntries := maxEntries
	if t.immediate {
		maxEntries, maxBytes = 2*maxEntries, 2*maxBytes
	}
	if s.entries > 0 && !t.unbounded && (s.entries >= maxEntries || s.bytes+t.bytes > maxBytes) {
		return false, rpc.Errorf(rpc.CodeBusy, "%d messages (%d bytes) are queued already; wait for answers, and try again", s.entries, s.bytes)
	}
	s.entries++
	s.bytes += t.bytes
	switch {
	case t.immediate:
		return true, nil
	case s.exclusive || len(s.backlog) > 0:
		s.backlog = append(s.backlog, t)
		return false, nil
	}
	return s.enter(t), nil
}

// enter starts the turn of t and returns true, or queues t and returns false.
func (s *schedule) enter(t *entry) bool {
	if t.exclusive {
		if len(s.lanes) > 0 {
			s.backlog = append(s.backlog, t)
			return false
		}
		s.exclusive = true
		return true
	}
	if waits, busy := s.lanes[t.lane]; busy {
		if t.reads && len(waits) == 0 && s.yielding[t.lane] != nil {
			s.pass(t)
			return true
		}
		s.lanes[t.lane] = append(waits, t)
		return false
	}
	s.occupy(t)
	return true
}

// occupy makes t the message being handled in its lane, which must be free.
func (s *schedule) occupy(t *entry) {
	if t.parallel {
		s.parallelLanes++
		t.lane = parallelLane + strconv.Itoa(s.parallelLanes)
	}
	s.lanes[t.lane] = nil
}

// pass makes t a message being handled in a lane of its own.
func (s *schedule) pass(t *entry) {
	t.parallel = true
	s.occupy(t)
}

// letReadsPass starts the reads that come next in the lane of t, and lets later ones pass, while t is
// being handled.
func (c *conversation) letReadsPass(t *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.schedule
	if t.ended || t.immediate || t.exclusive {
		return
	}
	s.yielding[t.lane] = t
	for waits := s.lanes[t.lane]; len(waits) > 0 && waits[0].reads; waits = s.lanes[t.lane] {
		next := waits[0]
		s.lanes[t.lane] = waits[1:]
		s.pass(next)
		go next.start() // ends when the message is handled
	}
}

// dequeue removes a handled message and starts those that waited for it.
func (c *conversation) dequeue(t *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.schedule
	s.entries--
	s.bytes -= t.bytes
	t.ended = true
	switch {
	case t.immediate:
	case t.exclusive:
		s.exclusive = false
	default:
		s.leave(t.lane)
	}
	for !s.exclusive && len(s.backlog) > 0 {
		next := s.backlog[0]
		if next.exclusive && len(s.lanes) > 0 {
			break
		}
		s.backlog = s.backlog[1:]
		if s.enter(next) {
			go next.start() // ends when the message is handled
		}
	}
	c.changed.Broadcast()
}

// leave starts the next messages of a lane.
func (s *schedule) leave(lane string) {
	delete(s.yielding, lane)
	for waits := s.lanes[lane]; len(waits) > 0; waits = waits[1:] {
		next := waits[0]
		if !next.parallel {
			s.lanes[lane] = waits[1:]
			go next.start() // ends when the message is handled
			return
		}
		s.occupy(next)
		go next.start()
	}
	delete(s.lanes, lane)
}

// inOrder handles a message of the bridge after the earlier ones of its thread. It waits at most until ctx
// ends.
func (p *Proxy) inOrder(ctx context.Context, m *rpc.Message, handle func()) *rpc.Error {
	came := make(chan struct{})
	t := &entry{order: p.orderOf(m), bytes: m.Size()}
	t.start = func() { close(came) }
	now, refused := p.state.enqueue(t, p.maxWaiting())
	if refused != nil {
		return refused
	}
	if !now {
		select {
		case <-came:
		case <-ctx.Done():
			go func() { // ends when the message need not wait; it is not handled
				<-came
				p.state.dequeue(t)
			}()
			return rpc.Errorf(rpc.CodeDeadline, "%s was not sent, since an earlier message is still being handled: %v", m.Method, problem.Text(context.Cause(ctx)))
		}
	}
	defer p.state.dequeue(t)
	handle()
	return nil
}

func (p *Proxy) maxWaiting() int { return p.opts.MaxMessage + maxWaiting }
