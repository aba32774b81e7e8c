package approvals

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// maxWaiting is how many questions wait for the answer to one.
const maxWaiting = 128

// PendingQuestions are questions to a person that have no answer yet. A question equal to a
// pending one waits for its answer. W represents a waiting question. No method blocks.
type PendingQuestions[W any] struct {
	mu       sync.Mutex
	byDigest map[string][]pendingQuestion[W] // by Key.Digest; the first is the one that was asked
	digests  map[string]string               // Key.Digest by id
}

type pendingQuestion[W any] struct {
	id     string
	waiter W
}

// JoinResult tells what to do with a question.
type JoinResult int

// The results of Join.
const (
	First   JoinResult = iota // ask the question, and call Settle when it has ended
	Waiting                   // it waits for the answer to an equal question
	TooMany                   // too many wait already
)

// Join adds a question before it is asked. Pending ids must be unique. wait is called if
// the question must wait; it must not use q.
func (q *PendingQuestions[W]) Join(k Key, id string, wait func() W) JoinResult {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.settle(id)
	digest := k.Digest()
	same, pending := q.byDigest[digest]
	switch {
	case digest == "": // without a key, no question is equal
		return First
	case len(same) > maxWaiting:
		return TooMany
	case q.byDigest == nil:
		q.byDigest, q.digests = make(map[string][]pendingQuestion[W]), make(map[string]string)
	}
	added := pendingQuestion[W]{id: id}
	if pending {
		added.waiter = wait()
	}
	q.byDigest[digest], q.digests[id] = append(same, added), digest
	if pending {
		return Waiting
	}
	return First
}

// NumWaiting returns how many questions wait for the answer to another.
func (q *PendingQuestions[W]) NumWaiting() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, same := range q.byDigest {
		n += len(same) - 1
	}
	return n
}

// Settle removes the question with the id. If it was the one that was asked, Settle returns
// the questions that waited for its answer, in order of arrival.
func (q *PendingQuestions[W]) Settle(id string) (waited []W) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.settle(id)
}

func (q *PendingQuestions[W]) settle(id string) (waited []W) {
	digest, known := q.digests[id]
	if !known {
		return nil
	}
	delete(q.digests, id)
	same := q.byDigest[digest]
	if i := slices.IndexFunc(same, func(o pendingQuestion[W]) bool { return o.id == id }); i > 0 {
		q.byDigest[digest] = slices.Delete(same, i, i+1)
		return nil
	}
	delete(q.byDigest, digest)
	for _, o := range same[1:] {
		delete(q.digests, o.id)
		waited = append(waited, o.waiter)
	}
	return waited
}

// MaxQuestions is how many questions a person is asked within questionWindow. Otherwise a
// model could ask until the person accepts everything.
const (
	MaxQuestions   = 12
	questionWindow = time.Minute
)

// Limiter limits how often a person is asked, per thread: 12 times in any minute.
type Limiter struct {
	mu    sync.Mutex
	times map[string][]askedQuestion // by thread, oldest first
}

type askedQuestion struct {
	id string
	at time.Time
}

// NewLimiter returns a Limiter.
func NewLimiter() *Limiter { return &Limiter{times: make(map[string][]askedQuestion)} }

// Allow reports whether another question may be asked, and counts it if so. A question that several
// clients are asked has one id and counts once. Without an id it always counts.
func (l *Limiter) Allow(thread, id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now() // its monotonic clock counts
	past := func(q askedQuestion) bool { return now.Sub(q.at) >= questionWindow }
	recent := slices.DeleteFunc(l.times[thread], past)
	switch {
	case id != "" && slices.ContainsFunc(recent, func(q askedQuestion) bool { return q.id == id }):
		l.times[thread] = recent
		return true
	case len(recent) >= MaxQuestions:
		l.times[thread] = recent
		return false
	}
	if len(recent) == 0 { // rare enough to clean up the other threads too
		maps.DeleteFunc(l.times, func(_ string, all []askedQuestion) bool { return len(all) == 0 || past(all[len(all)-1]) })
	}
	l.times[thread] = append(recent, askedQuestion{id, now})
	return true
}
