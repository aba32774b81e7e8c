package serve

import (
	"context"
	"errors"
	"slices"

	"codex-bridge.example/relay/handlers"
	"codex-bridge.example/rpc"
)

// asking is a question of the bridge that waits for an answer. One goroutine runs wait; it alone uses shown.
//
// It behaves as a question of Codex: each client that may answer is asked, also one that opens the thread
// later; the first answer counts; and serverRequest/resolved closes it in all of them.
type asking struct {
	clients  *Clients
	question *handlers.Question
	owner    *Client       // of the watching clients' questions: who may answer
	changed  chan struct{} // has an entry after clients have come or gone
	answers  chan clientAnswer
	shown    map[*Client]*showing
	gates    map[*handlers.Gate]<-chan struct{} // that have shown the question; closed when it is closed there
}

// showing is a question in one client.
type showing struct {
	watches bool // another client answers
	failed  error
	close   context.CancelFunc
}

type clientAnswer struct {
	client *Client
	shown  *showing
	result rpc.Value
	err    error
}

var errGone = errors.New(reasonGone)

// HasPerson implements handlers.Audience.
func (s *Clients) HasPerson(thread, turn string) (ok bool, why string) {
	for _, c := range s.mayAnswer(thread, turn) {
		if ok, why = c.HasPerson(); ok {
			return true, ""
		}
	}
	if why == "" {
		why = reasonGone
	}
	return false, why
}

// mayAnswer returns the clients that may answer a question about a turn.
func (s *Clients) mayAnswer(thread, turn string) []*Client {
	if s.options.AnyMayAnswer {
		return s.audience(thread)
	}
	if _, starter, _ := s.starter(thread, turn); starter != nil {
		return []*Client{starter}
	}
	return nil
}

// Ask implements handlers.Audience.
func (s *Clients) Ask(ctx context.Context, q *handlers.Question) (handlers.Answered, error) {
	a := &asking{
		clients: s, question: q, changed: make(chan struct{}, 1), answers: make(chan clientAnswer),
		shown: make(map[*Client]*showing), gates: make(map[*handlers.Gate]<-chan struct{}),
	}
	s.mu.Lock()
	s.asking[a] = struct{}{}
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	by, result, err := a.wait(ctx)
	s.mu.Lock()
	delete(s.asking, a)
	s.mu.Unlock()
	cancel()
	answered := handlers.Answered{Result: result, End: a.end}
	if err == nil {
		answered.Gate = by.Gate()
	}
	return answered, err
}

// end ends the question in all clients that have shown it.
func (a *asking) end(accepted bool) {
	for gate, closed := range a.gates {
		go func() { // ends when the client reads, or soon
			<-closed
			gate.End(a.question, accepted)
		}()
	}
}

// askAgain asks the clients that have come, and closes the questions in those that have gone.
func (s *Clients) askAgain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for a := range s.asking {
		select {
		case a.changed <- struct{}{}:
		default:
		}
	}
}

// wait returns the first answer that counts.
func (a *asking) wait(ctx context.Context) (by *Client, result rpc.Value, err error) {
	for {
		if err := a.update(ctx); err != nil {
			return nil, rpc.Value{}, err
		}
		select {
		case <-ctx.Done():
			return nil, rpc.Value{}, context.Cause(ctx)
		case <-a.changed:
		case got := <-a.answers:
			switch {
			case a.shown[got.client] != got.shown: // it has gone meanwhile
			case got.shown.watches:
				if got.shown.failed = got.err; got.err == nil {
					got.shown.failed = errIgnored
					got.client.warnIgnored(a.question.Thread(), a.question.Method(), a.owner)
				}
			case got.err == nil:
				return got.client, got.result, nil
			default:
				got.shown.failed = got.err
			}
		}
	}
}

var errIgnored = errors.New("only the client that began the turn may answer")

// update shows the question in the clients that should have it, and closes it in others. The error says that no
// client can answer any more.
func (a *asking) update(ctx context.Context) error {
	s := a.clients
	all, answering := s.audience(a.question.Thread()), s.mayAnswer(a.question.Thread(), a.question.Turn())
	if !s.options.AnyMayAnswer {
		if len(answering) == 0 {
			return errGone
		}
		a.owner = answering[0]
	}
	for c, one := range a.shown {
		if !slices.Contains(all, c) {
			one.close()
			delete(a.shown, c)
			c.Gate().Withdraw(a.question)
		}
	}
	for _, c := range all {
		if a.shown[c] == nil {
			a.show(ctx, c, answering)
		}
	}
	var failed error
	for _, c := range answering {
		one := a.shown[c]
		if one == nil || one.failed == nil || c.hasGone() {
			if ok, _ := c.HasPerson(); ok {
				return nil
			}
			continue
		}
		failed = one.failed
	}
	return failed // nil: all have gone, and another may come
}

// hasGone reports whether the client's connection has ended, and Leave follows.
func (c *Client) hasGone() bool {
	select {
	case <-c.conn.ClientDone():
		return true
	case <-c.conn.CodexDone():
		return true
	default:
		return false
	}
}

// show shows the question in a client.
func (a *asking) show(ctx context.Context, c *Client, answering []*Client) {
	one := &showing{watches: !slices.Contains(answering, c)}
	ctx, one.close = context.WithCancel(ctx)
	a.shown[c] = one
	owner := ""
	if one.watches {
		if !c.KnowsBridge() {
			c.warnWaiting(a.question.Thread(), a.question.Method(), a.question.Summary(), a.owner)
			return
		}
		owner = a.owner.Name()
	} else if ok, _ := c.HasPerson(); !ok {
		return
	}
	gate, closed := c.Gate(), make(chan struct{})
	a.gates[gate] = closed
	go func() { // ends with the answer, the client, or ctx
		result, err := gate.Show(ctx, a.question, owner)
		close(closed)
		select {
		case a.answers <- clientAnswer{c, one, result, err}:
		case <-ctx.Done():
		}
	}()
}
