package turn

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"codex-bridge.example/rpc"
)

// Codex sends requests to Codex. *bridge.Conn implements it.
type Codex interface {
	Call(ctx context.Context, method string, params any) (rpc.Value, error)
}

const (
	// requestTimeout is the timeout of a request. Codex answers turn/start when the turn starts.
	requestTimeout = 60 * time.Second
	// retryAfter is the time between attempts when no notification announces a change.
	retryAfter = time.Second
	// maxEnded is the number of ended turns that are kept for late responses.
	maxEnded = 32
)

// Thread follows the turns of one thread.
type Thread struct {
	ID    string
	codex Codex

	mu         sync.Mutex
	running    string    // the turn of the last turn/started; turn/completed of a review has another id
	expected   string    // a turn in a response, before its turn/started
	starting   int       // pending turn/start requests
	closed     string    // a turn that takes no input
	blocked    time.Time // no turn starts before: a review runs without notifications
	silent     bool      // Codex does not send the ids of inputs
	unwatched  bool      // the client has unsubscribed, so Codex sends no events
	ended      []endedTurn
	sent       []*sentInput // with a pending fate
	collectors []*Collector
	changed    chan struct{} // closed with the next change of the fields above; nil: nothing waits for one
}

type endedTurn struct {
	id     string
	status Status
}

// NewThread returns a Thread without a running turn.
func NewThread(id string, codex Codex) *Thread {
	return &Thread{ID: id, codex: codex}
}

// Take handles an event. It ignores events of other threads.
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
		t.handleInput(e)
	case EventEnded, EventThreadClosed:
		t.handleEnd(e)
	default:
		return
	}
	t.wake()
}

func (t *Thread) handleInput(e Event) {
	t.silent = !e.Echoes
	if e.Client == "" {
		return
	}
	t.sent = slices.DeleteFunc(t.sent, func(s *sentInput) bool {
		if s.clientID == e.Client {
			s.fate = fateDelivered
		}
		return s.clientID == e.Client
	})
}

func (t *Thread) handleEnd(e Event) {
	hasEnded := func(turn string) bool {
		return turn != "" && (e.Kind == EventThreadClosed || turn == e.Turn || turn == t.running)
	}
	t.sent = slices.DeleteFunc(t.sent, func(s *sentInput) bool {
		if !hasEnded(s.Turn) {
			return false
		}
		s.settle(!t.silent, e.Status)
		return true
	})
	for _, id := range []string{e.Turn, t.running} {
		if id != "" {
			t.ended = append(t.ended, endedTurn{id, e.Status})
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

// wake wakes the callers that wait for a change. t.mu must be locked.
func (t *Thread) wake() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// Changed returns a channel that is closed when a turn starts or ends, or the fate of an input
// becomes known. Call it before you read the state.
func (t *Thread) Changed() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.nextChange()
}

// nextChange returns the channel that the next change closes. t.mu must be locked.
func (t *Thread) nextChange() <-chan struct{} {
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return t.changed
}

// Turn returns the turn that is running or starting, or "". open reports whether it may take input.
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

// Collect passes the thread's events to c until stop is called.
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

// start starts a turn. It waits while another turn is running, because Codex would add the input
// to that turn.
func (t *Thread) start(ctx context.Context, params func() (json.RawMessage, error)) (*sentInput, error) {
	for {
		changed := t.Changed()
		p, err := params()
		if err != nil {
			return nil, err
		}
		s, err := t.tryStart(ctx, p)
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

// tryStart starts a turn. It returns errBusy if another turn is running.
func (t *Thread) tryStart(ctx context.Context, params json.RawMessage) (*sentInput, error) {
	params, client, err := withClientID(params)
	if err != nil {
		return nil, err
	}
	s := &sentInput{thread: t, clientID: client, opened: true}
	t.mu.Lock()
	if t.starting > 0 || t.current() != "" || time.Now().Before(t.blocked) {
		t.mu.Unlock()
		return nil, errBusy
	}
	t.starting++
	t.sent = append(t.sent, s)
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
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
	if i := slices.IndexFunc(t.ended, func(p endedTurn) bool { return p.id == s.Turn }); i >= 0 {
		s.settle(!t.silent, t.ended[i].status)
		t.forget(s)
	} else if t.running != s.Turn {
		t.expected = s.Turn
	}
	return s, nil
}

// steer adds input to a turn. It returns errNoTurn if the turn is not running or takes no input,
// and another error if Codex refused the request.
func (t *Thread) steer(ctx context.Context, turn string, input []json.RawMessage) (*sentInput, error) {
	s := &sentInput{Turn: turn, thread: t, clientID: newClientID()}
	t.awaitStarted(ctx, turn)
	t.mu.Lock()
	if turn == "" || turn != t.current() || turn == t.closed {
		t.mu.Unlock()
		return nil, errNoTurn
	}
	t.sent = append(t.sent, s)
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := t.codex.Call(ctx, "turn/steer", map[string]any{
		"threadId": t.ID, "expectedTurnId": s.Turn, "input": input, "clientUserMessageId": s.clientID,
	})
	if err == nil {
		return s, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.wake()
	t.closed = turn // until its end; Codex would refuse later messages too
	if isDoubtful(err) {
		return s, nil // the turn's events show whether Codex accepted it
	}
	t.forget(s)
	return nil, err
}

// Interrupt interrupts a turn. It returns nil if the turn is not running.
func (t *Thread) Interrupt(ctx context.Context, turn string) error {
	t.awaitStarted(ctx, turn)
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := t.codex.Call(ctx, "turn/interrupt", map[string]any{"threadId": t.ID, "turnId": turn})
	if containsText(err, "no active turn") {
		return nil
	}
	return err
}

// awaitStarted waits for the turn/started of a turn whose turn/start has succeeded, at most for
// retryAfter. Measured: before it Codex says that no turn is active, and an interrupt is lost.
func (t *Thread) awaitStarted(ctx context.Context, turn string) {
	limit := time.NewTimer(retryAfter)
	defer limit.Stop()
	for {
		t.mu.Lock()
		changed, early := t.nextChange(), t.expected == turn && t.running != turn
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

// NoteClientStart records a turn/start of the client, so that the bridge starts no turn before its
// turn/started. Measured: Codex sends the response some time before turn/started, and adds input to
// the turn in between. Call answered once with the id of the turn, or "" if Codex refused.
func (t *Thread) NoteClientStart() (answered func(id string)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.starting++
	return func(id string) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.starting--
		hasEnded := slices.ContainsFunc(t.ended, func(p endedTurn) bool { return p.id == id })
		if id != "" && !hasEnded && t.running != id {
			t.expected = id
		}
		t.wake()
	}
}
