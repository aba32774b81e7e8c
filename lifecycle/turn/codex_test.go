package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"sync"
	"time"

	"codex-bridge.example/rpc"
)

// codex simulates the measured behaviour of Codex. A running turn takes input, gives it to the
// model before it ends, and loses it when it is interrupted. A review takes no input. turn/start
// while a turn runs joins that turn.
type codex struct {
	tell   chan Event
	thread *Thread
	silent bool // does not send the ids of inputs, like older versions

	mu      sync.Mutex
	rand    *rand.Rand
	n       int
	running *running
	model   []string // the texts that the model was given
	turns   sync.WaitGroup
}

type running struct {
	id, kind    string
	active      bool
	pending     []sent
	interrupted chan struct{}
}

type sent struct {
	client string
	texts  []string
}

func newCodex(seed int64) *codex {
	c := &codex{tell: make(chan Event, 100_000), rand: rand.New(rand.NewSource(seed))}
	c.thread = NewThread("th", c)
	return c
}

// deliver passes the events to the Thread in order, each after a delay, until ctx ends.
func (c *codex) deliver(ctx context.Context) {
	for {
		select {
		case e := <-c.tell:
			c.nap(3)
			c.thread.Take(e)
		case <-ctx.Done():
			return
		}
	}
}

func (c *codex) nap(maxMS int) {
	c.mu.Lock()
	d := time.Duration(c.rand.Intn(maxMS+1)) * time.Millisecond
	c.mu.Unlock()
	time.Sleep(d)
}

func (c *codex) Call(_ context.Context, method string, params any) (rpc.Value, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return rpc.Value{}, err
	}
	c.nap(3)
	answer, err := c.do(method, raw)
	c.nap(3)
	if err != nil {
		return rpc.Value{}, err
	}
	doc, err := rpc.ParseValue([]byte(answer))
	if err != nil {
		return rpc.Value{}, err
	}
	return doc.Root(), nil
}

func refused(format string, args ...any) error {
	return rpc.Errorf(rpc.CodeUpstream, "codex refused it: "+format, args...)
}

func (c *codex) do(method string, raw json.RawMessage) (string, error) {
	var p struct {
		Expected string `json:"expectedTurnId"`
		Turn     string `json:"turnId"`
		Client   string `json:"clientUserMessageId"`
		Input    []struct{ Text string }
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return "", err
	}
	s := sent{client: p.Client}
	for _, item := range p.Input {
		s.texts = append(s.texts, item.Text)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.running
	switch {
	case method == "turn/steer" && (now == nil || !now.active):
		return "", refused("no active turn to steer")
	case method == "turn/steer" && now.kind == "turn" && now.id != p.Expected:
		return "", refused("expected active turn id `%s` but found `%s`", p.Expected, now.id)
	case method == "turn/steer" && now.kind != "turn":
		return "", refused("cannot steer a %s turn", now.kind)
	case method == "turn/start" && now != nil && now.kind != "turn":
		return "", refused("failed to submit turn input: ActiveTurnNotSteerable { turn_kind: Review }")
	case method == "turn/start" && now != nil, method == "turn/steer":
		now.pending = append(now.pending, s)
		return `{"turn":{"id":"` + now.id + `"}}`, nil
	case method == "turn/start":
		return `{"turn":{"id":"` + c.begin("turn", s).id + `"}}`, nil
	case method == "turn/interrupt" && (now == nil || !now.active || now.id != p.Turn):
		return "", refused("no active turn to interrupt")
	case method == "turn/interrupt":
		c.end(now, StatusInterrupted)
		return `{}`, nil
	}
	return "", refused("%s: unknown", method)
}

// begin starts a turn. c.mu must be locked.
func (c *codex) begin(kind string, first sent) *running {
	c.n++
	r := &running{id: fmt.Sprint("turn", c.n), kind: kind, interrupted: make(chan struct{})}
	c.running = r
	c.turns.Go(func() {
		c.nap(2)
		c.mu.Lock()
		r.active = true
		c.tell <- Event{Kind: EventStarted, Thread: "th", Turn: r.id}
		c.hear(r, first)
		c.mu.Unlock()
		c.run(r)
	})
	return r
}

func (c *codex) hear(r *running, s sent) {
	if s.texts == nil {
		return
	}
	c.model = append(c.model, s.texts...)
	e := Event{Kind: EventInput, Thread: "th", Turn: r.id, Client: s.client, Echoes: true}
	if c.silent {
		e.Client, e.Echoes = "", false
	}
	c.tell <- e
}

func (c *codex) run(r *running) {
	for {
		c.mu.Lock()
		rest := time.Duration(c.rand.Intn(40)) * time.Millisecond
		c.mu.Unlock()
		select {
		case <-r.interrupted:
			return
		case <-time.After(rest):
		}
		c.mu.Lock()
		if c.running != r {
			c.mu.Unlock()
			return
		}
		if len(r.pending) == 0 {
			c.end(r, StatusCompleted)
			c.mu.Unlock()
			return
		}
		for _, s := range r.pending {
			c.hear(r, s)
		}
		r.pending = nil
		c.mu.Unlock()
	}
}

// end ends a turn. c.mu must be locked.
func (c *codex) end(r *running, how Status) {
	if c.running != r {
		return
	}
	c.running = nil
	close(r.interrupted)
	id := r.id
	if r.kind == "review" {
		id += "-as-answered" // Codex uses two ids for a review
	}
	c.tell <- Event{Kind: EventEnded, Thread: "th", Turn: id, Status: how}
}

// client performs an action of the client that bypasses the bridge's Inbox.
func (c *codex) client(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case what == "interrupt" && c.running != nil && c.running.active:
		c.end(c.running, StatusInterrupted)
	case what == "interrupt" || c.running != nil:
	case what == "review", what == "compact":
		c.begin(what, sent{})
	default:
		c.begin("turn", sent{client: "the-client's", texts: []string{"client"}})
	}
}
