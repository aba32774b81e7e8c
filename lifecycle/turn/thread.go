package turn

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"codex-bridge/rpc"
)

// Codex is asked for turns. *bridge.Conn is one.
type Codex interface {
	Call(ctx context.Context, method string, params any) (rpc.Value, error)
}

const (
	// answersWithin is how long Codex may take for an answer. A turn is answered when it
	// begins.
	answersWithin = 60 * time.Second
	// retryAfter is for what Codex has not told of yet.
	retryAfter = time.Second
	// maxEnded is how many turns are remembered after their end, for answers that come late.
	maxEnded = 32
)

// Thread is the turns of one thread.
type Thread struct {
	ID    string
	codex Codex

	mu         sync.Mutex
	running    string    // that Codex has told of; the id of a review is not that of its end
	expected   string    // that was answered to us and has not been told of
	starting   int       // requests of turn/start that wait for their answers
	closed     string    // a turn that takes no input
	blocked    time.Time // no turn is started before: a review runs of which nothing has been told
	silent     bool      // Codex does not show the ids of inputs; until it has shown one without, it does
	ended      []past
	sent       []*sentInput // whose fate is open
	collectors []*Collector
	changed    chan struct{} // closed with the next change of any of this
}

// past is a turn that has ended.
type past struct {
	id  string
	how Status
}

// NewThread makes the Thread of that id, of which no turn is running.
func NewThread(id string, codex Codex) *Thread {
	return &Thread{ID: id, codex: codex, changed: make(chan struct{})}
}

// Take takes an event; one of another thread counts for nothing.
func (t *Thread) Take(e Event) {
	if e.Thread != t.ID {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.collectors {
		c.Take(e)
	}
	switch e.Kind {
	case EventStarted:
		t.running, t.closed, t.blocked = e.Turn, "", time.Time{}
		if t.expected == e.Turn {
			t.expected = ""
		}
	case EventInput:
		t.hear(e)
	case EventEnded, EventThreadClosed:
		t.end(e)
	default:
		return
	}
	t.wake()
}

func (t *Thread) hear(e Event) {
	t.silent = !e.Echoes
	if e.Client == "" {
		return
	}
	t.sent = slices.DeleteFunc(t.sent, func(s *sentInput) bool {
		if s.client == e.Client {
			s.fate = fateTaken
		}
		return s.client == e.Client
	})
}

func (t *Thread) end(e Event) {
	over := func(turn string) bool {
		return turn != "" && (e.Kind == EventThreadClosed || turn == e.Turn || turn == t.running)
	}
	t.sent = slices.DeleteFunc(t.sent, func(s *sentInput) bool {
		if !over(s.Turn) {
			return false
		}
		s.settle(!t.silent, e.Status)
		return true
	})
	for _, id := range []string{e.Turn, t.running} {
		if id != "" {
			t.ended = append(t.ended, past{id, e.Status})
		}
	}
	if n := len(t.ended) - maxEnded; n > 0 {
		t.ended = slices.Delete(t.ended, 0, n)
	}
	if t.expected == e.Turn || e.Kind == EventThreadClosed {
		t.expected = ""
	}
	t.running, t.closed, t.blocked = "", "", time.Time{}
}

// wake is called under the lock.
func (t *Thread) wake() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// Changed is closed when a turn begins or ends, and when the fate of an input is known.
// Ask for it before looking.
func (t *Thread) Changed() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changed
}

// Turn is the turn that is running or about to; "" for none. open tells whether it may
// take input.
func (t *Thread) Turn() (id string, open bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id = t.current()
	return id, id != "" && id != t.closed
}

func (t *Thread) current() string {
	if t.expected != "" {
		return t.expected
	}
	return t.running
}

// Collect has c take what the thread says, until stop.
func (t *Thread) Collect(c *Collector) (stop func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.collectors = append(t.collectors, c)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.collectors = slices.DeleteFunc(t.collectors, func(x *Collector) bool { return x == c })
	}
}

// start starts a turn when no other is running: input that Codex would add to a running turn
// waits for its end.
func (t *Thread) start(ctx context.Context, params func() (json.RawMessage, error)) (*sentInput, error) {
	for {
		changed := t.Changed()
		asked, err := params()
		if err != nil {
			return nil, err
		}
		s, err := t.tryStart(ctx, asked)
		if !errors.Is(err, errBusy) {
			return s, err
		}
		again := time.NewTimer(retryAfter)
		select {
		case <-changed:
		case <-again.C:
		case <-ctx.Done():
		}
		again.Stop()
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// tryStart starts a turn, or returns errBusy while another is running.
func (t *Thread) tryStart(ctx context.Context, params json.RawMessage) (*sentInput, error) {
	params, client, err := withClient(params)
	if err != nil {
		return nil, err
	}
	s := &sentInput{thread: t, client: client, opened: true}
	t.mu.Lock()
	if t.starting > 0 || t.current() != "" || time.Now().Before(t.blocked) {
		t.mu.Unlock()
		return nil, errBusy
	}
	t.starting++
	t.sent = append(t.sent, s)
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	result, err := t.codex.Call(ctx, "turn/start", params)
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.wake()
	t.starting--
	if err != nil {
		t.forget(s)
		if isClosedToInput(err) {
			if t.current() == "" {
				t.blocked = time.Now().Add(retryAfter)
			}
			return nil, errBusy
		}
		return nil, err
	}
	s.Turn, _ = result.Get("turn").Get("id").Text()
	if i := slices.IndexFunc(t.ended, func(p past) bool { return p.id == s.Turn }); i >= 0 {
		s.settle(!t.silent, t.ended[i].how)
		t.forget(s)
	} else if t.running != s.Turn {
		t.expected = s.Turn
	}
	return s, nil
}

// steer adds input to the turn of that id. The error is errNoTurn if the turn does not run or
// takes no input; with another error, Codex has refused.
func (t *Thread) steer(ctx context.Context, turn string, input []json.RawMessage) (*sentInput, error) {
	s := &sentInput{Turn: turn, thread: t, client: newClient()}
	t.told(ctx, turn)
	t.mu.Lock()
	if turn == "" || turn != t.current() || turn == t.closed {
		t.mu.Unlock()
		return nil, errNoTurn
	}
	t.sent = append(t.sent, s)
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	_, err := t.codex.Call(ctx, "turn/steer", map[string]any{
		"threadId": t.ID, "expectedTurnId": s.Turn, "input": input, "clientUserMessageId": s.client,
	})
	if err == nil {
		return s, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.wake()
	t.closed = turn // until its end, or Codex would be asked in vain with every message
	if isDoubtful(err) {
		return s, nil // the turn tells whether it was accepted
	}
	t.forget(s)
	return nil, err
}

// Interrupt ends the turn of that id; that it does not run is no error.
func (t *Thread) Interrupt(ctx context.Context, turn string) error {
	t.told(ctx, turn)
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	_, err := t.codex.Call(ctx, "turn/interrupt", map[string]any{"threadId": t.ID, "turnId": turn})
	if containsText(err, "no active turn") {
		return nil
	}
	return err
}

// told waits for Codex to tell of a turn that it has answered: until then it says that no
// turn is active, and an interrupt is lost (measured).
func (t *Thread) told(ctx context.Context, turn string) {
	limit := time.NewTimer(retryAfter)
	defer limit.Stop()
	for {
		t.mu.Lock()
		changed, early := t.changed, t.expected == turn && t.running != turn
		t.mu.Unlock()
		if !early {
			return
		}
		select {
		case <-changed:
		case <-limit.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (t *Thread) forget(s *sentInput) {
	t.sent = slices.DeleteFunc(t.sent, func(x *sentInput) bool { return x == s })
}

// ClientStarts notes that the client itself asks for a turn, so that no turn is started here before Codex tells of that
// one: Codex answers turn/start some time before turn/started, and would add input to the turn in between (measured).
// Call answered once with the id of the turn, "" if Codex refused.
func (t *Thread) ClientStarts() (answered func(id string)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.starting++
	return func(id string) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.starting--
		hasEnded := slices.ContainsFunc(t.ended, func(p past) bool { return p.id == id })
		if id != "" && !hasEnded && t.running != id {
			t.expected = id
		}
		t.wake()
	}
}
