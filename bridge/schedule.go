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
	backlog []*turn
	ordered bool // an ordered message is handled
	turns   int  // messages that wait or are handled
	bytes   int  // of those
	opened  int  // lanes that were made for messages of their own
}

// turn is one message's turn to be handled.
type turn struct {
	place
	bytes int
	start func() // called in a goroutine of its own when the turn comes after all
}

// place is where a message stands among the others.
type place struct {
	lane string // messages of one lane are handled one after the other
	// alone: the turn comes in the order of the lane, but the lane goes on while the message
	// is handled.
	alone bool
	// ordered: all messages before are handled first, and those behind wait.
	ordered bool
	// control: an answer or an interrupt, which waits for nothing.
	control bool
	// must: it is never too much.
	must bool
}

const (
	sharedLane  = ""        // messages without a thread
	answersLane = "answers" // answers to nothing
	threadLane  = "thread " // and the thread's id
	aloneLane   = "alone "  // and a number

	maxTurns = 4096 // messages that wait or are handled
	// maxWaiting bounds them in bytes, besides one of Options.MaxMessage.
	maxWaiting = 16 << 20
)

func newSchedule() schedule { return schedule{lanes: make(map[string][]*turn)} }

// placeOf is the place of a request or notification.
func (p *Proxy) placeOf(m *rpc.Message) place {
	switch {
	case m.Method == "initialize" || m.Method == "initialized":
		return place{ordered: true}
	case p.isUrgent(m.Method):
		return place{control: true}
	}
	if id, ok := m.Params.Get("threadId").Text(); ok {
		return place{lane: threadLane + id}
	}
	return place{lane: sharedLane, alone: m.Method == "thread/start"}
}

// isIdle reports whether no message waits or is handled.
func (c *conversation) isIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.schedule.turns == 0
}

// begin asks for a message's turn. now reports that it has come; else t.start is called
// when it does. The caller calls end afterwards. A message that is too much is refused.
func (c *conversation) begin(t *turn, maxBytes int) (now bool, refused *rpc.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.schedule
	maxTurns := maxTurns
	if t.control {
		maxTurns, maxBytes = 2*maxTurns, 2*maxBytes
	}
	if s.turns > 0 && !t.must && (s.turns >= maxTurns || s.bytes+t.bytes > maxBytes) {
		return false, rpc.Errorf(rpc.CodeBusy, "%d messages (%d bytes) wait already for messages before them; wait for answers, and try again", s.turns, s.bytes)
	}
	s.turns++
	s.bytes += t.bytes
	switch {
	case t.control:
		return true, nil
	case s.ordered || len(s.backlog) > 0:
		s.backlog = append(s.backlog, t)
		return false, nil
	}
	return s.enter(t), nil
}

// enter gives t its turn, or has it wait; false.
func (s *schedule) enter(t *turn) bool {
	if t.ordered {
		if len(s.lanes) > 0 {
			s.backlog = append(s.backlog, t)
			return false
		}
		s.ordered = true
		return true
	}
	if waits, busy := s.lanes[t.lane]; busy {
		s.lanes[t.lane] = append(waits, t)
		return false
	}
	s.open(t)
	return true
}

// open has a message handled in its lane, in which none is.
func (s *schedule) open(t *turn) {
	if t.alone {
		s.opened++
		t.lane = aloneLane + strconv.Itoa(s.opened)
	}
	s.lanes[t.lane] = nil
}

// end is called when a message is handled.
func (c *conversation) end(t *turn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.schedule
	s.turns--
	s.bytes -= t.bytes
	switch {
	case t.control:
	case t.ordered:
		s.ordered = false
	default:
		s.leave(t.lane)
	}
	for !s.ordered && len(s.backlog) > 0 {
		next := s.backlog[0]
		if next.ordered && len(s.lanes) > 0 {
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
		if !next.alone {
			s.lanes[lane] = waits[1:]
			go next.start() // ends when the message is handled
			return
		}
		s.open(next)
		go next.start()
	}
	delete(s.lanes, lane)
}

// within handles a message of the bridge's own in its place. It waits for its turn, but
// not longer than ctx.
func (p *Proxy) within(ctx context.Context, m *rpc.Message, handle func()) *rpc.Error {
	came := make(chan struct{})
	t := &turn{place: p.placeOf(m), bytes: len(m.Bytes())}
	t.start = func() { close(came) }
	now, refused := p.state.begin(t, p.maxWaiting())
	if refused != nil {
		return refused
	}
	if !now {
		select {
		case <-came:
		case <-ctx.Done():
			go func() { // ends when the turn comes, which nobody uses
				<-came
				p.state.end(t)
			}()
			return rpc.Errorf(rpc.CodeDeadline, "%s was not sent, since a message before it is still on its way: %v", m.Method, context.Cause(ctx))
		}
	}
	defer p.state.end(t)
	handle()
	return nil
}

func (p *Proxy) maxWaiting() int { return p.o.MaxMessage + maxWaiting }
