package grants

import (
	"slices"
	"sync"
)

// mostWaiting bounds how many wait for the answer to one question.
const mostWaiting = 128

// Questions are those that were put to a person and have no answer yet. Who asks the
// same as one of them waits for its answer. W is who waits. Nothing here blocks.
type Questions[W any] struct {
	mu   sync.Mutex
	open map[string][]one[W] // by Key.Digest; the first is the one that was put
	of   map[string]string   // by id: the Key.Digest
}

type one[W any] struct {
	id    string
	waits W
}

// Place is what is to become of a question.
type Place int

// The places.
const (
	Leads Place = iota // it is the one to put, and has to be settled whatever becomes of it
	Waits              // for the answer to the one that was put
	Full               // nor can it wait: too many do
)

// Join is called before a question is put. No two of them have the same id at a time.
// wait is called when it is to wait; it must not use q.
func (q *Questions[W]) Join(k Key, id string, wait func() W) Place {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.settle(id)
	digest := k.Digest()
	same, pending := q.open[digest]
	switch {
	case digest == "": // what has no key is like nothing else
		return Leads
	case len(same) > mostWaiting:
		return Full
	case q.open == nil:
		q.open, q.of = make(map[string][]one[W]), make(map[string]string)
	}
	added := one[W]{id: id}
	if pending {
		added.waits = wait()
	}
	q.open[digest], q.of[id] = append(same, added), digest
	if pending {
		return Waits
	}
	return Leads
}

// Waiting is how many wait for an answer to another's question.
func (q *Questions[W]) Waiting() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, same := range q.open {
		n += len(same) - 1
	}
	return n
}

// Settle takes out the question of that id. Of the one that was put it returns who
// has waited for its answer, in the order in which they came: who asks the same after
// it leads again.
func (q *Questions[W]) Settle(id string) (waited []W) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.settle(id)
}

func (q *Questions[W]) settle(id string) (waited []W) {
	digest, known := q.of[id]
	if !known {
		return nil
	}
	delete(q.of, id)
	same := q.open[digest]
	if i := slices.IndexFunc(same, func(o one[W]) bool { return o.id == id }); i > 0 {
		q.open[digest] = slices.Delete(same, i, i+1)
		return nil
	}
	delete(q.open, digest)
	for _, o := range same[1:] {
		delete(q.of, o.id)
		waited = append(waited, o.waits)
	}
	return waited
}
