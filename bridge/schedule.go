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
	lanes map[string][]*turn
	// yielding are the messages being handled that let reads pass, by lane.
	yielding map[string]*turn
	// backlog is the queue behind an exclusive message that is handled, or is first in it.
	backlog       []*turn
	exclusive     bool // an exclusive message is being handled
	turns         int  // messages queued or being handled
	bytes         int  // their size
	parallelLanes int  // number of lanes created for parallel messages
}

// turn is a message in the schedule.
type turn struct {
	order
	bytes int
	start func() // called in a new goroutine if the turn does not come at once
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

	maxTurns = 4096 // messages queued or being handled
	// maxWaiting is their maximum size in bytes, besides one message of Options.MaxMessage.
	maxWaiting = 16 << 20
)

func newSchedule() schedule {
	return schedule{lanes: make(map[string][]*turn), yielding: make(map[string]*turn)}
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
	return c.schedule.turns == 0
}

// beginTurn adds a message. now reports whether its turn has come; otherwise t.start is called
// later. The caller calls endTurn after handling it. Beyond the limits the message is refused.
func (c *conversation) beginTurn(t *turn, maxBytes int) (now bool, refused *rpc.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.schedule
	maxTurns := maxTurns
	if t.immediate {
		maxTurns, maxBytes = 2*maxTurns, 2*maxBytes
	}
	if s.turns > 0 && !t.unbounded && (s.turns >= maxTurns || s.bytes+t.bytes > maxBytes) {
		return false, rpc.Errorf(rpc.CodeBusy, "%d messages (%d bytes) are queued already; wait for answers, and try again", s.turns, s.bytes)
	}
	s.turns++
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
func (s *schedule) enter(t *turn) bool {
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
func (s *schedule) occupy(t *turn) {
	if t.parallel {
		s.parallelLanes++
		t.lane = parallelLane + strconv.Itoa(s.parallelLanes)
	}
	s.lanes[t.lane] = nil
}

// pass makes t a message being handled in a lane of its own.
func (s *schedule) pass(t *turn) {
	t.parallel = true
	s.occupy(t)
}

// letReadsPass starts the reads that come next in the lane of t, and lets later ones pass, while t is
// being handled.
func (c *conversation) letReadsPass(t *turn) {
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

// endTurn removes a handled message and starts those that waited for it.
func (c *conversation) endTurn(t *turn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.schedule
	s.turns--
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

// inTurn handles a message of the bridge in its turn. It waits for the turn at most until ctx
// ends.
func (p *Proxy) inTurn(ctx context.Context, m *rpc.Message, handle func()) *rpc.Error {
	came := make(chan struct{})
	t := &turn{order: p.orderOf(m), bytes: m.Size()}
	t.start = func() { close(came) }
	now, refused := p.state.beginTurn(t, p.maxWaiting())
	if refused != nil {
		return refused
	}
	if !now {
		select {
		case <-came:
		case <-ctx.Done():
			go func() { // ends when the turn comes; it is not used
				<-came
				p.state.endTurn(t)
			}()
			return rpc.Errorf(rpc.CodeDeadline, "%s was not sent, since an earlier message is still being handled: %v", m.Method, problem.Text(context.Cause(ctx)))
		}
	}
	defer p.state.endTurn(t)
	handle()
	return nil
}

func (p *Proxy) maxWaiting() int { return p.opts.MaxMessage + maxWaiting }
