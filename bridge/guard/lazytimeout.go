package guard

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// lazyTimeout is a context whose timeout starts when its end is first needed. Most messages wait
// for nothing, and a timer costs more than a decision. It is safe for concurrent use.
type lazyTimeout struct {
	parent  context.Context
	timeout time.Duration

	mu     sync.Mutex
	timed  context.Context // nil until it is needed
	stop   context.CancelFunc
	closed bool
}

func newLazyTimeout(parent context.Context, timeout time.Duration) *lazyTimeout {
	return &lazyTimeout{parent: parent, timeout: timeout}
}

// started returns the context with the timeout, and starts it if needed.
func (l *lazyTimeout) started() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timed == nil {
		l.timed, l.stop = context.WithTimeoutCause(l.parent, l.timeout, fmt.Errorf("the message was not decided within %s", l.timeout))
		if l.closed {
			l.stop()
		}
	}
	return l.timed
}

// cancel ends the context.
func (l *lazyTimeout) cancel() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.stop != nil {
		l.stop()
	}
}

func (l *lazyTimeout) Deadline() (time.Time, bool) { return l.started().Deadline() }
func (l *lazyTimeout) Done() <-chan struct{}       { return l.started().Done() }
func (l *lazyTimeout) Err() error                  { return l.started().Err() }
func (l *lazyTimeout) Value(key any) any           { return l.started().Value(key) }
