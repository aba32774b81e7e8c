package store

import "time"

const (
	// restRatio limits the writer to one part in restRatio of a processor while values are
	// being dropped.
	restRatio = 20
	// workPeriod is the time between two rests.
	workPeriod = time.Millisecond
)

// Pacer limits the processor time of a Queue's writer. It must be used by the writer's
// goroutine.
type Pacer[T any] struct {
	queue    *Queue[T]
	lastRest time.Time // zero: no work yet
}

// NewPacer returns a Pacer for the writer of q.
func (q *Queue[T]) NewPacer() *Pacer[T] { return &Pacer[T]{queue: q} }

// Begin must be called after each wait for a value.
func (p *Pacer[T]) Begin() { p.lastRest = time.Now() }

// Rest must be called between small pieces of work. While values are being dropped it
// sleeps at times: the writer can't keep up anyway, and the producers need the processor.
// Otherwise, and when the Queue is closed, it returns at once.
func (p *Pacer[T]) Rest() {
	if !p.queue.IsDropping() {
		return
	}
	worked := time.Since(p.lastRest)
	if worked < workPeriod {
		return
	}
	timer := time.NewTimer((restRatio - 1) * min(worked, 10*workPeriod))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.queue.quit:
	}
	p.lastRest = time.Now()
}
