package acp

import (
	"iter"
	"sync"
)

// Update holds the params of bridge/acp/update, which describes a child's work.
type Update struct {
	Child string `json:"childSessionKey"`
	Run   string `json:"runId"` // "" in Bound
	Agent string `json:"agentId"`
	Kind  Kind   `json:"kind"`
	Text  string `json:"text,omitempty"`
	Tool  *Tool  `json:"tool,omitempty"`
	// Parent and Context are set in a notice: the requester's session, and the key that later notices
	// replace this one by.
	Parent  string `json:"parentSessionKey,omitempty"`
	Context string `json:"contextKey,omitempty"`
	// Label and Session are set in Bound: the host's name for the child, and the agent's id of the
	// session, with which a later spawn can resume it.
	Label   string `json:"label,omitempty"`
	Session string `json:"sessionId,omitempty"`
	// Stop is the protocol's reason for the end of the turn.
	Stop string `json:"stopReason,omitempty"`

	joints []int // the places in Text where the outbox joined two pieces
}

// Pieces returns the pieces of Text as the agent sent them.
func (u Update) Pieces() iter.Seq[string] {
	return func(yield func(string) bool) {
		from := 0
		for _, to := range u.joints {
			if !yield(u.Text[from:to]) {
				return
			}
			from = to
		}
		yield(u.Text[from:])
	}
}

// Kind is the kind of an update.
type Kind string

// The kinds.
const (
	// Bound asks the host to give the session its place. It comes before the first turn.
	Bound     Kind = "bound"
	Started   Kind = "started"
	Said      Kind = "text"    // Text is a piece of the agent's message
	Thought   Kind = "thought" // Text is a piece of the agent's reasoning
	Used      Kind = "tool"
	Decided   Kind = "permission" // Text is allowed or refused, and the reason
	Noticed   Kind = "notice"     // for the requester
	Done      Kind = "done"
	Broken    Kind = "failed" // Text is the reason
	Cancelled Kind = "cancelled"
)

// IsFinal reports whether this is the last update of a run.
func (k Kind) IsFinal() bool { return k == Done || k == Broken || k == Cancelled }

// Tool is a tool call of the agent.
type Tool struct {
	ID     string `json:"id"`
	Title  string `json:"title,omitempty"`
	Kind   string `json:"kind,omitempty"`
	Status string `json:"status,omitempty"`
}

// size returns the number of bytes of the fields whose length the agent controls.
func (u Update) size() int {
	n := len(u.Text)
	if t := u.Tool; t != nil {
		n += len(t.ID) + len(t.Title) + len(t.Kind) + len(t.Status)
	}
	return n
}

// maxOutbox is the maximum number of bytes in an outbox. A reader so far behind has stopped reading.
const maxOutbox = 8 << 20

// outbox delivers updates in order from one goroutine, so that a slow reader does not block the
// agent. It joins waiting pieces of a text, and keeps where each of them begins.
type outbox struct {
	deliver func(Update)

	mu     sync.Mutex
	queue  []Update
	bytes  int
	closed bool
	more   chan struct{}
	done   chan struct{}
}

func newOutbox(deliver func(Update)) *outbox {
	o := &outbox{deliver: deliver, more: make(chan struct{}, 1), done: make(chan struct{})}
	go o.run() // ends with close
	return o
}

// put queues an update and reports whether there was room. The last update of a run always has.
func (o *outbox) put(u Update) bool {
	const overhead, joint = 200, 8 // approximate bytes of an update without its texts; bytes of a joint
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return true
	}
	last := len(o.queue) - 1
	joins := last >= 0 && (u.Kind == Said || u.Kind == Thought) && o.queue[last].Kind == u.Kind && o.queue[last].Run == u.Run
	if o.bytes += u.size(); joins {
		o.bytes += joint
	} else {
		o.bytes += overhead
	}
	if o.bytes > maxOutbox && !u.Kind.IsFinal() {
		return false
	}
	if joins {
		waiting := &o.queue[last]
		waiting.joints = append(waiting.joints, len(waiting.Text))
		waiting.Text += u.Text
	} else {
		o.queue = append(o.queue, u)
	}
	o.wake()
	return true
}

func (o *outbox) wake() {
	select {
	case o.more <- struct{}{}:
	default:
	}
}

func (o *outbox) run() {
	defer close(o.done)
	for range o.more {
		for {
			o.mu.Lock()
			queue, closed := o.queue, o.closed
			o.queue, o.bytes = nil, 0
			o.mu.Unlock()
			for _, u := range queue {
				o.deliver(u)
			}
			if len(queue) == 0 {
				if closed {
					return
				}
				break
			}
		}
	}
}

// close delivers the waiting updates and waits for that.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.wake()
	o.mu.Unlock()
	<-o.done
}
