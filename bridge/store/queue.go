package store

import (
	"sync"
	"sync/atomic"
)

// Queue is a bounded queue between many producers and one goroutine that writes. A producer never
// waits: a value that exceeds the limits is dropped, and the writer learns how many were dropped at
// that point. Any goroutine may call Fits, Put and Drop; only one may call Next and TryNext.
type Queue[T any] struct {
	maxBytes    int64
	queue       chan entry[T]
	queuedBytes atomic.Int64
	unreported  atomic.Int64 // since the last Next or TryNext
	dropped     atomic.Int64 // in total

	once sync.Once
	quit chan struct{}
}

type entry[T any] struct {
	value T
	size  int64
}

// NewQueue returns a Queue for at most count values with bytes bytes in all.
func NewQueue[T any](count int, bytes int) *Queue[T] {
	return &Queue[T]{maxBytes: int64(bytes), queue: make(chan entry[T], count), quit: make(chan struct{})}
}

// Fits reports whether a value of size bytes has room now. If not, it counts count values as
// dropped, so the caller need not build the value.
func (q *Queue[T]) Fits(size, count int) bool {
	if len(q.queue) < cap(q.queue) && q.queuedBytes.Load()+int64(size) <= q.maxBytes {
		return true
	}
	q.Drop(count)
	return false
}

// Put adds a value of size bytes that represents count values, or drops it.
func (q *Queue[T]) Put(value T, size, count int) {
	q.queuedBytes.Add(int64(size))
	select {
	case q.queue <- entry[T]{value, int64(size)}:
	default:
		q.queuedBytes.Add(-int64(size))
		q.Drop(count)
	}
}

// Drop counts values that were not put.
func (q *Queue[T]) Drop(count int) {
	q.unreported.Add(int64(count))
	q.dropped.Add(int64(count))
}

// Next waits for a value. ok is false if the Queue is closed and empty. dropped is the
// number of values dropped since the previous call; under concurrent puts it is
// approximate.
func (q *Queue[T]) Next() (value T, dropped int64, ok bool) {
	select {
	case e := <-q.queue:
		return q.take(e)
	case <-q.quit:
		return q.TryNext()
	}
}

// TryNext is Next without waiting.
func (q *Queue[T]) TryNext() (value T, dropped int64, ok bool) {
	select {
	case e := <-q.queue:
		return q.take(e)
	default:
		return value, q.unreported.Swap(0), false
	}
}

func (q *Queue[T]) take(e entry[T]) (T, int64, bool) {
	q.queuedBytes.Add(-e.size)
	return e.value, q.unreported.Swap(0), true
}

// Dropped returns the total number of dropped values.
func (q *Queue[T]) Dropped() int64 { return q.dropped.Load() }

// IsDropping reports whether values were dropped since the last Next or TryNext.
func (q *Queue[T]) IsDropping() bool { return q.unreported.Load() > 0 }

// IsHalfFull reports whether the queue has at least half of the values, or of the bytes, that it takes.
func (q *Queue[T]) IsHalfFull() bool {
	return len(q.queue) >= cap(q.queue)/2 || q.queuedBytes.Load() >= q.maxBytes/2
}

// Close makes Next return false once the queue is empty. A value that is put later may be
// lost.
func (q *Queue[T]) Close() { q.once.Do(func() { close(q.quit) }) }

// Closed returns a channel that Close closes.
func (q *Queue[T]) Closed() <-chan struct{} { return q.quit }
