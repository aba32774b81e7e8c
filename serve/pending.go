package serve

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/rpc"
)

// pendingQuestion is a request of Codex about a thread that has no answer yet. The lock of Clients guards
// its fields, except asked.
//
// Codex waits for an answer without a limit, also if no client is left. So each question has a client that
// may answer it, or a timer that declines it.
type pendingQuestion struct {
	asked *rpc.Envelope
	// owner alone may answer; nil: each client of answerers.
	owner     *Client
	answerers []*Client // that were asked and may answer
	answered  bool      // owner has answered, but Codex has not resolved the question yet
	since     time.Time // the first client was asked
	limit     time.Duration
	orphaned  time.Time   // no client may answer since then; zero: one may
	timer     *time.Timer // declines the question; nil: it has no limit
}

// answerGrace is how long an answer of a client that leaves may need to reach Codex.
const answerGrace = time.Second

// Rules in the decision log.
const (
	ruleAnswer  = "serve.answer"
	ruleTimeout = "approvals.timeout"
)

// reasonGone is the reason for declining a question that only the client that began the turn may answer.
const reasonGone = "the client that began the turn has gone"

// register records that a client gets a request of Codex. owner is the client that alone may answer; nil: each
// that is asked. It returns nil if the request is declined, since owner has gone.
func (s *Clients) register(c *Client, msg *bridge.ServerMessage, plays part, owner *Client) *pendingQuestion {
	here := owner == nil || s.has(owner, threadOf(msg.Root().Get("params")))
	s.mu.Lock()
	defer s.mu.Unlock()
	key := msg.ID.Key()
	q := s.pending[key]
	if q == nil || !isSame(q.asked, msg.Envelope) {
		if q != nil {
			s.forgetLocked(key, q) // Codex has reused the id
		}
		q = &pendingQuestion{asked: msg.Clone(), since: time.Now()}
		s.pending[key] = q
	}
	if q.owner = owner; plays == answers && !slices.Contains(q.answerers, c) {
		q.answerers = append(slices.Clip(q.answerers), c)
	}
	if !here {
		s.declineLocked(key, q, ruleAnswer, reasonGone)
		return nil
	}
	s.timeLocked(key, q)
	return q
}

// isSame reports whether two requests of Codex with one id are one question, which each client gets.
func isSame(a, b *rpc.Envelope) bool {
	for _, name := range []string{"threadId", "conversationId", "turnId", "itemId", "callId"} {
		if !bytes.Equal(a.Root().Get("params").Get(name).Raw(), b.Root().Get("params").Get(name).Raw()) {
			return false
		}
	}
	return a.Method == b.Method
}

// timeLocked sets the timer of a question after a change of its answerers or its limit.
func (s *Clients) timeLocked(key string, q *pendingQuestion) {
	switch {
	case q.owner != nil || len(q.answerers) > 0:
		q.orphaned = time.Time{}
	case q.orphaned.IsZero():
		q.orphaned = time.Now()
	}
	var wait time.Duration
	limit := q.limit
	if limit > 0 {
		wait = time.Until(q.since.Add(limit))
	}
	if !q.orphaned.IsZero() {
		if left := s.options.Timeout() - time.Since(q.orphaned); limit == 0 || left < wait {
			limit, wait = s.options.Timeout(), left
		}
	}
	if q.timer != nil {
		q.timer.Stop()
	}
	if q.timer = nil; limit > 0 {
		q.timer = time.AfterFunc(max(wait, 0), func() { s.expire(key, q, fmt.Sprintf("no answer came within %s", limit)) })
	}
}

// expire declines a question unless its timer was set again.
func (s *Clients) expire(key string, q *pendingQuestion, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	over := q.limit > 0 && time.Since(q.since) >= q.limit || !q.orphaned.IsZero() && time.Since(q.orphaned) >= s.options.Timeout()
	switch {
	case s.pending[key] != q:
	case over:
		s.declineLocked(key, q, ruleTimeout, reason)
	default:
		s.timeLocked(key, q)
	}
}

// declineLocked declines a question, by a connection that does not end with a client.
func (s *Clients) declineLocked(key string, q *pendingQuestion, rule, reason string) {
	s.forgetLocked(key, q)
	go s.options.Decline(q.asked, rule, reason) // ends when the refusal is logged and written
}

func (s *Clients) forgetLocked(key string, q *pendingQuestion) {
	if q.timer != nil {
		q.timer.Stop()
	}
	delete(s.pending, key)
}

// forget forgets the questions for which is returns true: Codex does not wait for them any more.
func (s *Clients) forget(is func(key string, q *pendingQuestion) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, q := range s.pending {
		if is(key, q) {
			s.forgetLocked(key, q)
		}
	}
}

// leaveLocked records that a client can't answer a question any more.
func (s *Clients) leaveLocked(c *Client, key string, q *pendingQuestion) {
	switch {
	case q.owner == c && q.answered:
		time.AfterFunc(answerGrace, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.pending[key] == q {
				s.declineLocked(key, q, ruleAnswer, reasonGone)
			}
		})
	case q.owner == c:
		s.declineLocked(key, q, ruleAnswer, reasonGone)
	case slices.Contains(q.answerers, c):
		q.answerers = without(q.answerers, c)
		s.timeLocked(key, q)
	}
}

// answer handles the response of a client that may answer a question. An error is no answer while another
// client may give one.
func (s *Clients) answer(c *Client, q *pendingQuestion, r *bridge.ClientResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := q.asked.ID.Key()
	if s.pending[key] != q {
		return // Codex ignores a second answer
	}
	switch {
	case q.owner != nil:
		q.answered = true
	case !slices.Contains(q.answerers, c): // it has left the thread
		r.Withhold()
	case r.Root().Get("error").Exists() && len(q.answerers) > 1:
		r.Withhold()
		s.leaveLocked(c, key, q)
	}
}

// Expire limits the time of a question that its clients are asked, and returns what is left of it.
func (c *Client) Expire(asked *rpc.Envelope, wait time.Duration) (left time.Duration) {
	s := c.clients
	s.mu.Lock()
	defer s.mu.Unlock()
	key := asked.ID.Key()
	q := s.pending[key]
	if q == nil {
		return 0
	}
	if q.limit == 0 {
		q.limit = wait
		s.timeLocked(key, q)
	}
	return max(time.Until(q.since.Add(q.limit)), 0)
}
