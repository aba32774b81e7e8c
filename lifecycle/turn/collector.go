package turn

import (
	"context"
	"slices"
	"strings"
	"sync"
)

const (
	// maxEarly is the maximum number of events buffered for each turn before SetTurn.
	maxEarly = 100
	// maxTurns is the maximum number of turns with buffered events.
	maxTurns = 8
	// maxText is the maximum number of bytes of message deltas. The complete message comes at the
	// end and replaces them.
	maxText = 4 << 20
)

// Outcome describes how a turn ended.
type Outcome struct {
	Status  Status
	Text    string // of the last agent message that has any
	All     string // of all agent messages, joined by blank lines
	Problem string // why it failed
}

// Collector gathers the agent messages of one turn. It buffers events until SetTurn names the
// turn, which may be after the turn's end.
type Collector struct {
	thread string
	done   chan struct{} // closed with the end of the turn

	mu      sync.Mutex
	turn    string             // "" before SetTurn
	early   map[string][]Event // buffered before SetTurn, by turn
	order   []string           // item ids, in the order of their first event
	texts   map[string][]byte  // by item id
	size    int                // bytes of all deltas
	problem string             // reported last by Codex
	outcome Outcome
}

// NewCollector returns a Collector for a turn of the thread.
func NewCollector(thread string) *Collector {
	return &Collector{thread: thread, done: make(chan struct{}), early: make(map[string][]Event), texts: make(map[string][]byte)}
}

// Take handles an event. It ignores events of other threads and turns.
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

// keep buffers an event until SetTurn. The end of a turn is always kept, and so is a complete
// message: it replaces its deltas, or else the oldest event.
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

// SetTurn selects the turn and applies its buffered events. Later calls do nothing.
func (c *Collector) SetTurn(turn string) {
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

// Problem returns the last problem that Codex reported while the turn was running, or "".
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
	c.outcome = Outcome{Status: e.Status, Problem: e.Problem}
	var all []string
	for _, item := range c.order {
		if text := strings.TrimSpace(string(c.texts[item])); text != "" {
			c.outcome.Text, all = text, append(all, text)
		}
	}
	c.outcome.All = strings.Join(all, "\n\n")
	c.texts, c.order = nil, nil
	close(c.done)
}

// Wait waits for the end of the turn. If ctx ends first, Wait returns ctx's cause.
func (c *Collector) Wait(ctx context.Context) (Outcome, error) {
	select {
	case <-c.done:
		return c.outcome, nil
	case <-ctx.Done():
		return Outcome{}, context.Cause(ctx)
	}
}
