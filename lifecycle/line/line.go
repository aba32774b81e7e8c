// Package line has what belongs to one session done one at a time, in the order in which it
// was asked for, whatever became of what was before.
//
// A Lines may be used by several goroutines. Nothing of it runs by itself: a line is gone
// with the last who stands in it.
package line

import (
	"context"
	"errors"
	"sync"
)

// ErrFull is returned where too many stand in line.
var ErrFull = errors.New("too much is waiting in line for this session; wait for an answer before asking for more")

// Lines are the lines of all sessions.
type Lines struct {
	most int // who may stand in one of them

	mu    sync.Mutex
	lines map[string][]chan struct{} // by key; the first is the one whose turn it is
}

// New makes Lines in each of which so many may stand, with the one that is being served.
func New(most int) *Lines {
	return &Lines{most: most, lines: make(map[string][]chan struct{})}
}

// Do does f when all who have asked before for the same key are done. Who is called off
// while waiting leaves the line; the error is then ctx's.
func (l *Lines) Do(ctx context.Context, key string, f func(context.Context) error) error {
	turn, err := l.join(key)
	if err != nil {
		return err
	}
	defer l.leave(key, turn)
	select {
	case <-turn:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if ctx.Err() != nil { // both at once
		return context.Cause(ctx)
	}
	return f(ctx)
}

func (l *Lines) join(key string) (chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.lines[key]
	if len(line) >= l.most {
		return nil, ErrFull
	}
	turn := make(chan struct{})
	if l.lines[key] = append(line, turn); len(line) == 0 {
		close(turn)
	}
	return turn, nil
}

func (l *Lines) leave(key string, turn chan struct{}) {
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

// Waiting is how many stand in line for the key, with the one that is being served.
func (l *Lines) Waiting(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lines[key])
}
