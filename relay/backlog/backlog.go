// Package backlog is what waits to be written by one goroutine, while those who say it go on.
//
// Who puts something in never waits: what does not fit, by number or by bytes, is dropped,
// and the one who writes is told how many were, in their place. Put may be called from
// everywhere at once, Next and More by one goroutine.
package backlog

import (
	"sync"
	"sync/atomic"
)

// Queue is a backlog.
type Queue[T any] struct {
	most    int64
	queue   chan entry[T]
	waiting atomic.Int64 // bytes
	dropped atomic.Int64 // since Next or More told
	lost    atomic.Int64 // of all

	once sync.Once
	quit chan struct{}
}

type entry[T any] struct {
	value T
	size  int64
}

// New makes a Queue of at most so many values and bytes.
func New[T any](count int, bytes int) *Queue[T] {
	return &Queue[T]{most: int64(bytes), queue: make(chan entry[T], count), quit: make(chan struct{})}
}

// Fits tells whether as many bytes would be taken. What is not is counted, as so many
// dropped: it need not be copied first.
func (q *Queue[T]) Fits(size, count int) bool {
	if q.waiting.Load()+int64(size) <= q.most {
		return true
	}
	q.Drop(count)
	return false
}

// Put adds a value of that many bytes, which counts as so many, or drops it.
func (q *Queue[T]) Put(value T, size, count int) {
	q.waiting.Add(int64(size))
	select {
	case q.queue <- entry[T]{value, int64(size)}:
	default:
		q.waiting.Add(-int64(size))
		q.Drop(count)
	}
}

// Drop counts what was never put in.
func (q *Queue[T]) Drop(count int) {
	q.dropped.Add(int64(count))
	q.lost.Add(int64(count))
}

// Next waits for a value. It is false when the Queue was closed and is empty. dropped is how
// many were lost since the last that was told, as good as is known: before this value, or
// after the last.
func (q *Queue[T]) Next() (value T, dropped int64, ok bool) {
	select {
	case e := <-q.queue:
		return q.take(e)
	case <-q.quit:
		return q.More()
	}
}

// More is Next without waiting.
func (q *Queue[T]) More() (value T, dropped int64, ok bool) {
	select {
	case e := <-q.queue:
		return q.take(e)
	default:
		return value, q.dropped.Swap(0), false
	}
}

func (q *Queue[T]) take(e entry[T]) (T, int64, bool) {
	q.waiting.Add(-e.size)
	return e.value, q.dropped.Swap(0), true
}

// Lost is how many were dropped, of all.
func (q *Queue[T]) Lost() int64 { return q.lost.Load() }

// Dropping tells whether something was dropped that Next has not told yet.
func (q *Queue[T]) Dropping() bool { return q.dropped.Load() > 0 }

// Close has Next end once all is taken. What is put in afterwards may stay.
func (q *Queue[T]) Close() { q.once.Do(func() { close(q.quit) }) }

// Closed is closed by Close.
func (q *Queue[T]) Closed() <-chan struct{} { return q.quit }
