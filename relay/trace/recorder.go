package trace

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/store"
	"codex-bridge/relay/backlog"
	"codex-bridge/rpc"
)

// FolderName is the folder of the traces in the state folder.
const FolderName = "traces"

// most is how many messages may wait to be written.
const most = 8192

// Options are what a Recorder is made of.
type Options struct {
	Folder  string // where the files are
	TraceID string // tells this conversation from others on the same threads
	Limits  Limits
	Secrets []string         // texts that are secrets wherever they stand
	Keep    time.Duration    // files whose last event is older go first of all; 0: none
	Now     func() time.Time // nil: time.Now
	// SessionKey returns the session that a thread belongs to, "" for none; nil: there are no sessions. It is called
	// for each event.
	SessionKey func(thread string) string
	Log        *slog.Logger
}

// Recorder is a bridge.Observer that writes what it is told. Nobody waits for it.
type Recorder struct {
	limits Limits
	now    func() time.Time
	queue  *backlog.Queue[told]
	blocks sync.Pool // of *[]byte, for runs
	part   part      // codex's
	done   chan struct{}
	s      *session // the goroutine's
}

// told is what the Recorder was told.
type told struct {
	at       time.Time
	heard    bool // else told
	passed   bool // both: codex has said it, and the client gets it
	party    bridge.Side
	line     []byte
	long     int     // bytes, where line is only the start
	run      *[]byte // lines that have passed, in place of line
	decision *store.Decision
	timeout  *Timeout
}

// Timeout is a call of a tool of the host's that had no result in time.
type Timeout struct {
	Thread, Turn, Call string
	Tool               string
	After              time.Duration
}

// part is a line that passes in parts.
type part struct {
	line []byte
	size int
	lost bool // there is no room for it
}

// NewRecorder starts a Recorder. It makes no file before a thread is spoken of.
func NewRecorder(o Options) *Recorder {
	limits := o.Limits.orDefault()
	r := &Recorder{limits: limits, now: o.Now, queue: backlog.New[told](most, limits.Memory), done: make(chan struct{})}
	if r.now == nil {
		r.now = time.Now
	}
	r.s = newSession(o, r.limits)
	go r.write()
	return r
}

// Received implements bridge.Observer.
func (r *Recorder) Received(from bridge.Side, line []byte) { r.message(true, from, line) }

// Sending implements bridge.Observer.
func (r *Recorder) Sending(to bridge.Side, line []byte) { r.message(false, to, line) }

// Decided is told what the policy changed or refused.
func (r *Recorder) Decided(d store.Decision) { r.queue.Put(told{at: r.now(), decision: &d}, 1024, 1) }

// TimedOut records that a tool had no result in time.
func (r *Recorder) TimedOut(t Timeout) { r.queue.Put(told{at: r.now(), timeout: &t}, 1024, 1) }

// longest is how long a line may be to be kept as a whole until it is written; of a longer
// one its start is.
func (r *Recorder) longest() int { return r.limits.Memory / 2 }

const startOfLong = 4096

func (r *Recorder) message(heard bool, party bridge.Side, line []byte) {
	t := told{at: r.now(), heard: heard, party: party}
	line = bytes.TrimRight(line, "\r\n")
	if len(line) > r.longest() {
		t.long, line = len(line), line[:min(len(line), startOfLong)]
	}
	if r.queue.Fits(len(line), 1) {
		t.line = bytes.Clone(line)
		r.queue.Put(t, len(line), 1)
	}
}

// ForwardedLines implements bridge.Observer. Most of what codex says comes here, at the speed of the
// proxy: it costs a copy while there is room, and a comparison while there is none.
func (r *Recorder) ForwardedLines(lines []byte, count int) {
	if !r.queue.Fits(len(lines), count) {
		return
	}
	r.queue.Put(told{at: r.now(), passed: true, party: bridge.Client, run: r.block(lines)}, len(lines), count)
}

// leastShared is the size from which on the memory of a run is used again. A short one has
// just what it needs: many of them may be waiting.
const leastShared = rpc.PumpBufferSize / 4

// block is a copy of lines.
func (r *Recorder) block(lines []byte) *[]byte {
	if len(lines) < leastShared {
		lines = bytes.Clone(lines)
		return &lines
	}
	block, _ := r.blocks.Get().(*[]byte)
	if block == nil {
		b := make([]byte, 0, rpc.PumpBufferSize)
		block = &b
	}
	*block = append(*block, lines...)
	return block
}

// ForwardedPart implements bridge.Observer.
func (r *Recorder) ForwardedPart(text []byte, last bool) {
	p := &r.part
	p.size += len(text)
	switch {
	case p.lost:
	case p.size > r.longest():
		p.line = p.line[:min(len(p.line), startOfLong)]
	case r.queue.Fits(p.size, 0):
		p.line = append(p.line, text...)
	default:
		p.line, p.lost = nil, true
	}
	if !last {
		return
	}
	t := told{at: r.now(), passed: true, party: bridge.Client, line: bytes.TrimRight(p.line, "\r\n")}
	if p.size > r.longest() {
		t.long, t.line = p.size, bytes.Clone(t.line)
	}
	if p.lost {
		r.queue.Drop(1)
	} else {
		r.queue.Put(t, len(t.line), 1)
	}
	*p = part{}
}

// Lost is how many events were not written because too many were waiting.
func (r *Recorder) Lost() int64 { return r.queue.Dropped() }

// Where is the file of a thread.
func (r *Recorder) Where(thread string) string { return filepath.Join(r.s.Folder, FileName(thread)) }

// write is the goroutine that writes; it ends with Close.
func (r *Recorder) write() {
	defer close(r.done)
	if r.s.Keep > 0 {
		if _, err := Purge(r.s.Folder, r.now().Add(-r.s.Keep)); err != nil {
			r.s.Log.Warn("old traces stay", "error", err)
		}
	}
	var untold int64
	pace := r.queue.NewPacer()
	for {
		t, dropped, ok := r.queue.Next()
		untold += dropped
		if !ok {
			r.s.end(r.now(), untold)
			return
		}
		if untold > 0 && r.s.droppedEvents(t.at, untold) {
			untold = 0
		}
		pace.Begin()
		r.take(t, pace)
	}
}

func (r *Recorder) take(t told, pace *backlog.Pacer[told]) {
	if t.run == nil {
		r.s.take(t)
		pace.Rest()
		return
	}
	lines := *t.run
	for len(lines) > 0 {
		t.line, lines, _ = bytes.Cut(lines, []byte{'\n'})
		if t.line = bytes.TrimRight(t.line, "\r"); len(t.line) > 0 {
			r.s.take(t)
			pace.Rest()
		}
	}
	if cap(*t.run) >= rpc.PumpBufferSize {
		*t.run = (*t.run)[:0]
		r.blocks.Put(t.run) // what is kept of them is copied
	}
}

// Close writes what waits, ends what has no end, and closes the files.
func (r *Recorder) Close() {
	r.queue.Close()
	<-r.done
}
