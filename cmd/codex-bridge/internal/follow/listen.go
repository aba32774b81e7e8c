package follow

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
)

// Listener passes a line to the question that is open. It drops lines without an open question: a
// late yes must not answer the next question.
type Listener struct {
	mu    sync.Mutex
	asked chan string // nil: no open question
	over  chan struct{}
}

// Listen reads lines. Its goroutine ends at the end of in, or with the process.
func Listen(in io.Reader) *Listener {
	l := &Listener{over: make(chan struct{})}
	go func() {
		defer close(l.over)
		for lines := bufio.NewScanner(in); lines.Scan(); {
			l.mu.Lock()
			if l.asked != nil {
				l.asked <- strings.TrimSpace(lines.Text()) // the channel has room for one
				l.asked = nil
			}
			l.mu.Unlock()
		}
	}()
	return l
}

// Next calls ask and returns the next line.
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
		case line := <-asked: // the last line
			return line, nil
		default:
		}
		return "", errors.New("the input of the terminal has ended")
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
