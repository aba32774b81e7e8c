package backlog

import "time"

const (
	// share is the part of a processor that is left to whoever writes while more comes than it
	// can take anyway: one of so many.
	share = 20
	// stint is how long it works between two rests then.
	stint = time.Millisecond
)

// Pace is how hard a Queue's goroutine may work. It is the goroutine's.
type Pace[T any] struct {
	queue *Queue[T]
	since time.Time // the last rest; zero: no work since
}

// Pace makes a Pace.
func (q *Queue[T]) Pace() *Pace[T] { return &Pace[T]{queue: q} }

// Begin is called with each value that was waited for.
func (p *Pace[T]) Begin() { p.since = time.Now() }

// Rest is called between two pieces of work, as small as can be. While things are being
// dropped it waits at times: what comes so fast is not kept as a whole, however hard one
// works, and the processor is needed by those who say it. Otherwise, and once the Queue is
// closed, it returns at once.
func (p *Pace[T]) Rest() {
	if !p.queue.Dropping() {
		return
	}
	worked := time.Since(p.since)
	if worked < stint {
		return
	}
	timer := time.NewTimer((share - 1) * min(worked, 10*stint))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.queue.quit:
	}
	p.since = time.Now()
}
