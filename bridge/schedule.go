package bridge

import (
	"context"
	"strconv"

	"codex-bridge/rpc"
)

// schedule decides when a message of the client is handled. Handling may wait: for Codex's
// configuration, for the answer to a request that opens the thread, for a disk. The
// package's documentation describes the order. The conversation's mutex guards it.
type schedule struct {
	// lanes are those in which a message is handled, with the messages that wait behind it.
	lanes map[string][]*turn
	// backlog waits for an ordered message, or begins with one that waits for all lanes.
	backlog       []*turn
	exclusive     bool // an ordered message is handled
	turns         int  // messages that wait or are handled
	bytes         int  // of those
	parallelLanes int  // lanes that were made for messages of their own
}

// turn is one message's turn to be handled.
type turn struct {
	order
	bytes int
	start func() // called in a goroutine of its own when the turn comes after all
}

// place is where a message stands among the others.
type order struct {
	lane string // messages of one lane are handled one after the other
	// alone: the turn comes in the order of the lane, but the lane goes on while the message
	// is handled.
	parallel bool
	// ordered: all messages before are handled first, and those behind wait.
	exclusive bool
	// control: an answer or an interrupt, which waits for nothing.
	immediate bool
	// must: it is never too much.
	unbounded bool
}

const (
	sharedLane      = ""        // messages without a thread
	unsolicitedLane = "answers" // answers to nothing
	threadLane      = "thread " // and the thread's id
	parallelLane    = "alone "  // and a number

	maxTurns = 4096 // messages that wait or are handled
	// maxWaiting bounds them in bytes, besides one of Options.MaxMessage.
	maxWaiting = 16 << 20
)

func newSchedule() schedule { return schedule{lanes: make(map[string][]*turn)} }

// placeOf is the place of a request or notification.
func (p *Proxy) orderOf(m *rpc.Message) order {
	switch {
	case m.Method == "initialize" || m.Method == "initialized":
		return order{exclusive: true}
	case p.isUrgent(m.Method):
		return order{immediate: true}
	}
	if id, ok := m.Params.Get("threadId").Text(); ok {
		return order{lane: threadLane + id}
	}
	return order{lane: sharedLane, parallel: m.Method == "thread/start"}
}

// isIdle reports whether no message waits or is handled.
func (c *conversation) isIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.schedule.turns == 0
}

// begin asks for a message's turn. now reports that it has come; else t.start is called
// when it does. The caller calls end afterwards. A message that is too much is refused.
func (c *conversation) beginTurn(t *turn, maxBytes int) (now bool, refused *rpc.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.schedule
	maxTurns := maxTurns
	if t.immediate {
		maxTurns, maxBytes = 2*maxTurns, 2*maxBytes
	}
	if s.turns > 0 && !t.unbounded && (s.turns >= maxTurns || s.bytes+t.bytes > maxBytes) {
		return false, rpc.Errorf(rpc.CodeBusy, "%d messages (%d bytes) wait already for messages before them; wait for answers, and try again", s.turns, s.bytes)
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

// enter gives t its turn, or has it wait; false.
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
		s.lanes[t.lane] = append(waits, t)
		return false
	}
	s.occupy(t)
	return true
}

// open has a message handled in its lane, in which none is.
func (s *schedule) occupy(t *turn) {
	if t.parallel {
		s.parallelLanes++
		t.lane = parallelLane + strconv.Itoa(s.parallelLanes)
	}
	s.lanes[t.lane] = nil
}

// end is called when a message is handled.
func (c *conversation) endTurn(t *turn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.schedule
	s.turns--
	s.bytes -= t.bytes
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

// leave has the next messages of a lane handled.
func (s *schedule) leave(lane string) {
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

// within handles a message of the bridge's own in its place. It waits for its turn, but
// not longer than ctx.
func (p *Proxy) inTurn(ctx context.Context, m *rpc.Message, handle func()) *rpc.Error {
	came := make(chan struct{})
	t := &turn{order: p.orderOf(m), bytes: len(m.Bytes())}
	t.start = func() { close(came) }
	now, refused := p.state.beginTurn(t, p.maxWaiting())
	if refused != nil {
		return refused
	}
	if !now {
		select {
		case <-came:
		case <-ctx.Done():
			go func() { // ends when the turn comes, which nobody uses
				<-came
				p.state.endTurn(t)
			}()
			return rpc.Errorf(rpc.CodeDeadline, "%s was not sent, since a message before it is still on its way: %v", m.Method, context.Cause(ctx))
		}
	}
	defer p.state.endTurn(t)
	handle()
	return nil
}

func (p *Proxy) maxWaiting() int { return p.opts.MaxMessage + maxWaiting }
