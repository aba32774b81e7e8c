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

// Place is one in a line.
type Place struct {
	lines *Lines
	key   string
	turn  chan struct{}
}

// Join takes the last place in the line of the key. Do or Leave has to be called on it,
// once: who is behind waits for that.
func (l *Lines) Join(key string) (*Place, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.lines[key]
	if len(line) >= l.most {
		return nil, ErrFull
	}
	p := &Place{l, key, make(chan struct{})}
	if l.lines[key] = append(line, p.turn); len(line) == 0 {
		close(p.turn)
	}
	return p, nil
}

// Do does f when all who have joined before are done, and leaves the line. Who is called off
// while waiting leaves it, too; the error is then ctx's.
func (p *Place) Do(ctx context.Context, f func(context.Context) error) error {
	defer p.Leave()
	select {
	case <-p.turn:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if ctx.Err() != nil { // both at once
		return context.Cause(ctx)
	}
	return f(ctx)
}

// Leave gives the place up.
func (p *Place) Leave() { p.lines.leave(p.key, p.turn) }

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

// All is how many stand in all lines, with those that are being served.
func (l *Lines) All() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		n += len(line)
	}
	return n
}
