package main

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

// startWaiting prints to a terminal on stderr only. The caller must call stop.
func startWaiting(name string) *waiting {
	p := &waiting{name: name, to: os.Stderr, start: time.Now()}
	if isTerminal(os.Stderr) {
		p.timer = time.AfterFunc(waitingAfter, p.print)
	}
	return p
}

func (p *waiting) print() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil {
		return
	}
	fmt.Fprintf(p.to, "%s: working for %s\n", p.name, time.Since(p.start).Round(time.Second))
	p.timer.Reset(waitingEvery)
}

func (p *waiting) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}

// reader stops it before it reads.
func (p *waiting) reader(r io.Reader) io.Reader { return stoppingReader{r, p} }

// writer stops it before it writes.
func (p *waiting) writer(w io.Writer) io.Writer { return stoppingWriter{w, p} }

type stoppingReader struct {
	io.Reader
	p *waiting
}

func (r stoppingReader) Read(b []byte) (int, error) {
	r.p.stop()
	return r.Reader.Read(b)
}

type stoppingWriter struct {
	io.Writer
	p *waiting
}

func (w stoppingWriter) Write(b []byte) (int, error) {
	w.p.stop()
	return w.Writer.Write(b)
}
