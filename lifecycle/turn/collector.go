package turn

import (
	"context"
	"slices"
	"strings"
	"sync"
)

const (
	// maxEarly is how much is kept of each turn until it is known which one counts.
	maxEarly = 100
	// maxTurns is of how many turns.
	maxTurns = 8
	// maxText is how many bytes of parts are joined. A whole message comes at the end,
	// and replaces them.
	maxText = 4 << 20
)

// turnOutcome is how a turn ended.
type turnOutcome struct {
	Status  Status
	Text    string // of the last agent message that has any
	Problem string // why it failed
}

// Collector puts together what a turn says. It may be told which turn that is after the
// turn has said everything.
type Collector struct {
	thread string
	done   chan struct{} // closed with the end of the turn

	mu      sync.Mutex
	turn    string             // "" until it is known
	early   map[string][]Event // by turn, until it is known
	order   []string           // of the items, as they have first come
	texts   map[string][]byte
	size    int    // of the parts that were joined
	problem string // that Codex reported last
	outcome turnOutcome
}

// NewCollector makes a Collector for a turn of the thread.
func NewCollector(thread string) *Collector {
	return &Collector{thread: thread, done: make(chan struct{}), early: make(map[string][]Event), texts: make(map[string][]byte)}
}

// Take looks at an event; those of other threads and turns count for nothing.
func (c *Collector) Take(e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case e.Thread != c.thread:
	case e.Kind == EventThreadClosed:
		c.end(Event{Status: StatusFailed, Problem: "the thread was closed"})
	case c.turn == "":
		c.keep(e)
	case e.Turn == c.turn:
		c.take(e)
	}
}

// keep keeps an event until the turn is known. The end of a turn always finds a place, and so
// does a whole message: in that of its parts, else in the place of what came first.
func (c *Collector) keep(e Event) {
	kept, known := c.early[e.Turn]
	if len(kept) > maxEarly || !known && len(c.early) >= maxTurns {
		return
	}
	if e.Kind == EventMessage {
		of := func(x Event) bool {
			return (x.Kind == EventTextAdded || x.Kind == EventMessage) && x.Message.Item == e.Message.Item
		}
		if i := slices.IndexFunc(kept, of); i >= 0 {
			kept[i] = e
			c.early[e.Turn] = append(kept[:i+1], slices.DeleteFunc(kept[i+1:], of)...)
			return
		}
		if len(kept) == maxEarly {
			kept = kept[1:]
		}
	}
	if len(kept) < maxEarly || e.Kind == EventEnded {
		c.early[e.Turn] = append(kept, e)
	}
}

// Of says which turn counts.
func (c *Collector) Of(turn string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn != "" {
		return
	}
	c.turn = turn
	for _, e := range c.early[turn] {
		c.take(e)
	}
	c.early = nil
}

func (c *Collector) take(e Event) {
	switch e.Kind {
	case EventTextAdded:
		if c.size += len(e.Message.Text); c.size <= maxText {
			c.set(e.Message.Item, append(c.texts[e.Message.Item], e.Message.Text...))
		}
	case EventMessage:
		c.set(e.Message.Item, []byte(e.Message.Text))
	case EventRetrying:
		c.problem = e.Problem
	case EventEnded:
		c.end(e)
	}
}

// Problem returns the problem that Codex reported last while the turn was running; "" for none.
func (c *Collector) Problem() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.problem
}

func (c *Collector) set(item string, text []byte) {
	if _, known := c.texts[item]; !known {
		c.order = append(c.order, item)
	}
	c.texts[item] = text
}

func (c *Collector) end(e Event) {
	select {
	case <-c.done:
		return
	default:
	}
	for _, m := range e.Messages {
		c.set(m.Item, []byte(m.Text))
	}
	c.outcome = turnOutcome{Status: e.Status, Problem: e.Problem}
	for _, item := range c.order {
		if text := strings.TrimSpace(string(c.texts[item])); text != "" {
			c.outcome.Text = text
		}
	}
	c.texts, c.order = nil, nil
	close(c.done)
}

// Wait waits for the end of the turn. The error is ctx's.
func (c *Collector) Wait(ctx context.Context) (turnOutcome, error) {
	select {
	case <-c.done:
		return c.outcome, nil
	case <-ctx.Done():
		return turnOutcome{}, context.Cause(ctx)
	}
}
