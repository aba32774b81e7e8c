package output

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// A user reads after waitingAfter, and then every waitingEvery, that a command works that has printed
// nothing.
const waitingAfter, waitingEvery = 2 * time.Second, 10 * time.Second

// waiting tells a user at a terminal that a command still works, until it reads or prints something.
type waiting struct {
	name  string
	to    io.Writer
	start time.Time

	mu    sync.Mutex
	timer *time.Timer // nil: stopped
}

// StartWaiting prints to a terminal on stderr only. The caller must call Stop.
func StartWaiting(name string) *waiting {
	w := &waiting{name: name, to: os.Stderr, start: time.Now()}
	if IsTerminal(os.Stderr) {
		w.timer = time.AfterFunc(waitingAfter, w.print)
	}
	return w
}

func (w *waiting) print() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		return
	}
	fmt.Fprintf(w.to, "%s: working for %s\n", w.name, time.Since(w.start).Round(time.Second))
	w.timer.Reset(waitingEvery)
}

func (w *waiting) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// Reader stops it before it reads.
func (w *waiting) Reader(r io.Reader) io.Reader { return stoppingReader{r, w} }

// Writer stops it before it writes.
func (w *waiting) Writer(out io.Writer) io.Writer { return stoppingWriter{out, w} }

type stoppingReader struct {
	io.Reader
	waiting *waiting
}

func (r stoppingReader) Read(b []byte) (int, error) {
	r.waiting.Stop()
	return r.Reader.Read(b)
}

type stoppingWriter struct {
	io.Writer
	waiting *waiting
}

func (w stoppingWriter) Write(b []byte) (int, error) {
	w.waiting.Stop()
	return w.Writer.Write(b)
}
