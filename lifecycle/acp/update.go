package acp

import "sync"

// Update is what is told of a child's work: the params of bridge/acp/update.
type Update struct {
	Child string `json:"childSessionKey"`
	Run   string `json:"runId"` // "" of Bound
	Agent string `json:"agentId"`
	Kind  Kind   `json:"kind"`
	Text  string `json:"text,omitempty"`
	Tool  *Tool  `json:"tool,omitempty"`
	// Parent and Context are of a notice: the conversation that asked, and what a later
	// notice takes the place of.
	Parent  string `json:"parentSessionKey,omitempty"`
	Context string `json:"contextKey,omitempty"`
	// Label and Session are of Bound: what the host called the child, and the agent's own name of its session, by which
	// a later spawn can resume it.
	Label   string `json:"label,omitempty"`
	Session string `json:"sessionId,omitempty"`
	// Stop is why the turn ended, in the protocol's words.
	Stop string `json:"stopReason,omitempty"`
}

// Kind is what an update is about.
type Kind string

// The kinds.
const (
	// Bound: the host is to give the session its place. It comes before the first turn.
	Bound     Kind = "bound"
	Started   Kind = "started"
	Said      Kind = "text"    // by the agent; Text is a piece of it
	Thought   Kind = "thought" // the same, of what it does not mean to say
	Used      Kind = "tool"
	Decided   Kind = "permission" // Text is allowed or refused, and why
	Noticed   Kind = "notice"     // of the run, for the conversation that asked for it
	Done      Kind = "done"
	Broken    Kind = "failed" // Text is why
	Cancelled Kind = "cancelled"
)

// Ends tells whether nothing of the run follows.
func (k Kind) Ends() bool { return k == Done || k == Broken || k == Cancelled }

// Tool is a call of a tool of the agent's.
type Tool struct {
	ID     string `json:"id"`
	Title  string `json:"title,omitempty"`
	Kind   string `json:"kind,omitempty"`
	Status string `json:"status,omitempty"`
}

// size is how much of it an agent may make as long as it likes.
func (u Update) size() int {
	n := len(u.Text)
	if t := u.Tool; t != nil {
		n += len(t.ID) + len(t.Title) + len(t.Kind) + len(t.Status)
	}
	return n
}

// mostUntold is how much may wait to be told, in bytes: who hears nothing for so long has
// stopped to.
const mostUntold = 8 << 20

// outbox tells updates on, in their order and from one goroutine, so that who hears them
// slowly holds up nobody. Pieces of a text that wait are put together.
type outbox struct {
	tell func(Update)

	mu     sync.Mutex
	queue  []Update
	bytes  int
	closed bool
	more   chan struct{}
	done   chan struct{}
}

func newOutbox(tell func(Update)) *outbox {
	o := &outbox{tell: tell, more: make(chan struct{}, 1), done: make(chan struct{})}
	go o.run() // ends with close
	return o
}

// put has an update told. It tells whether there was room.
func (o *outbox) put(u Update) bool {
	const each = 200 // about what one takes beside its texts
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return true
	}
	last := len(o.queue) - 1
	goesOn := last >= 0 && (u.Kind == Said || u.Kind == Thought) && o.queue[last].Kind == u.Kind && o.queue[last].Run == u.Run
	if o.bytes += u.size(); !goesOn {
		o.bytes += each
	}
	if o.bytes > mostUntold && !u.Kind.Ends() {
		return false
	}
	if goesOn {
		o.queue[last].Text += u.Text
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
				o.tell(u)
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

// close tells what is left, and waits for it.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.wake()
	o.mu.Unlock()
	<-o.done
}
