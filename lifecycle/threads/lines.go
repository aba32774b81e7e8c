package threads

import (
	"context"
	"sync"
)

// lines has requests for one session wait for each other.
type lines struct {
	mu sync.Mutex
	m  map[string]*line
}

type line struct {
	turn chan struct{} // holds one
	n    int           // in it
}

// join waits for the turn of the session; leave ends it.
func (l *lines) join(ctx context.Context, session string) (leave func(), err error) {
	l.mu.Lock()
	if l.m == nil {
		l.m = make(map[string]*line)
	}
	one := l.m[session]
	if one == nil {
		one = &line{turn: make(chan struct{}, 1)}
		l.m[session] = one
	}
	one.n++
	l.mu.Unlock()
	gone := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if one.n--; one.n == 0 {
			delete(l.m, session)
		}
	}
	select {
	case one.turn <- struct{}{}:
		return func() { <-one.turn; gone() }, nil
	case <-ctx.Done():
		gone()
		return nil, context.Cause(ctx)
	}
}
