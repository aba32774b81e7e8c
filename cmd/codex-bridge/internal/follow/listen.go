package follow

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
)

// Listener hands a line to who has asked before it came. One that comes when nobody asks is
// nobody's: the yes to a question whose time was up must not answer the next one.
type Listener struct {
	mu    sync.Mutex
	asked chan string // nil: nobody asks
	over  chan struct{}
}

// Listen reads lines. Its goroutine ends with in, or with the process.
func Listen(in io.Reader) *Listener {
	l := &Listener{over: make(chan struct{})}
	go func() {
		defer close(l.over)
		for lines := bufio.NewScanner(in); lines.Scan(); {
			l.mu.Lock()
			if l.asked != nil {
				l.asked <- strings.TrimSpace(lines.Text()) // holds one
				l.asked = nil
			}
			l.mu.Unlock()
		}
	}()
	return l
}

// Next asks, and is the line that comes then.
func (l *Listener) Next(ctx context.Context, ask func()) (string, error) {
	asked := make(chan string, 1)
	l.mu.Lock()
	l.asked = asked
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.asked = nil
		l.mu.Unlock()
	}()
	ask()
	select {
	case line := <-asked:
		return line, nil
	case <-l.over:
		select {
		case line := <-asked: // the last one
			return line, nil
		default:
		}
		return "", errors.New("nobody is at the terminal any more")
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
