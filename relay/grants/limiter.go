package grants

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// MostQuestions bounds what a person is asked in any minute: a model that asks on and
// on wears them down until they say yes to all.
const (
	MostQuestions = 12
	questionsIn   = time.Minute
)

// Limiter bounds how often a person is asked for a thread: 12 times in any minute.
type Limiter struct {
	elapsed func() time.Duration

	mu    sync.Mutex
	asked map[string][]time.Duration // by thread, when; the oldest first
}

// NewLimiter makes a Limiter. elapsed is a clock that nobody sets; nil: that of the
// process.
func NewLimiter(elapsed func() time.Duration) *Limiter {
	if elapsed == nil {
		start := time.Now()
		elapsed = func() time.Duration { return time.Since(start) }
	}
	return &Limiter{elapsed: elapsed, asked: make(map[string][]time.Duration)}
}

// Allow tells whether one more question may be put, and counts it when it may.
func (l *Limiter) Allow(thread string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.elapsed()
	past := func(at time.Duration) bool { return now-at >= questionsIn }
	recent := slices.DeleteFunc(l.asked[thread], past)
	if len(recent) >= MostQuestions {
		l.asked[thread] = recent
		return false
	}
	if len(recent) == 0 { // rare enough to look at the other threads, too
		maps.DeleteFunc(l.asked, func(_ string, at []time.Duration) bool { return len(at) == 0 || past(at[len(at)-1]) })
	}
	l.asked[thread] = append(recent, now)
	return true
}
