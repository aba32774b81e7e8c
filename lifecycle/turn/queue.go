package turn

import (
	"context"
	"sync"

	"codex-bridge.example/rpc"
)

// ErrQueueFull is returned if too many requests wait for the same key.
var ErrQueueFull = rpc.Errorf(rpc.CodeBusy, "too many requests are waiting for this session; wait for an answer before sending more")

// Queue runs functions one at a time for each key, in the order of Join.
type Queue struct {
	maxPerKey int

	mu    sync.Mutex
	lines map[string][]chan struct{} // places by key; the first is the running one
}

// NewQueue returns a Queue with at most maxPerKey places for each key, including the running one.
func NewQueue(maxPerKey int) *Queue {
	return &Queue{maxPerKey: maxPerKey, lines: make(map[string][]chan struct{})}
}

// Place is a place in a Queue.
type Place struct {
	lines *Queue
	key   string
	turn  chan struct{}
}

// Join takes the last place for the key. The caller must call Do on it, once: the places behind
// wait for that.
func (l *Queue) Join(key string) (*Place, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.lines[key]
	if len(line) >= l.maxPerKey {
		return nil, ErrQueueFull
	}
	p := &Place{l, key, make(chan struct{})}
	if l.lines[key] = append(line, p.turn); len(line) == 0 {
		close(p.turn)
	}
	return p, nil
}

// Do calls f when all earlier places are done, and then leaves the queue. If ctx ends first, Do
// leaves the queue and returns ctx's cause.
func (p *Place) Do(ctx context.Context, f func(context.Context) error) error {
	defer p.lines.leave(p.key, p.turn)
	select {
	case <-p.turn:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if ctx.Err() != nil { // select picks at random when both are ready
		return context.Cause(ctx)
	}
	return f(ctx)
}

func (l *Queue) leave(key string, turn chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.lines[key]
	for i, one := range line {
		if one != turn {
			continue
		}
		line = append(line[:i:i], line[i+1:]...)
		if i == 0 && len(line) > 0 {
			close(line[0])
		}
		break
	}
	if l.lines[key] = line; len(line) == 0 {
		delete(l.lines, key)
	}
}

// Len returns the number of places of all keys, including the running ones.
func (l *Queue) Len() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		n += len(line)
	}
	return n
}
