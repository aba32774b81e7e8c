package trace

import (
	"bytes"
	"log/slog"
	"sync"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/rpc"
)

// FolderName is the folder of the traces in the state folder.
const FolderName = "traces"

// maxQueued bounds the messages that wait to be written.
const maxQueued = 8192

// Options configure a Recorder.
type Options struct {
	Folder  string // of the files
	TraceID string // distinguishes this conversation from others with the same threads
	Limits  Limits
	Secrets []string         // texts to redact everywhere
	Keep    time.Duration    // NewRecorder purges files whose last event is older; 0: none
	Now     func() time.Time // nil: time.Now
	// SessionKey returns the session of a thread, or "". It is called for each event. It may be nil.
	SessionKey func(thread string) string
	Log        *slog.Logger
}

// Recorder is a bridge.Observer that writes the messages of a conversation to files. Its methods do
// not wait for the disk, and are safe for concurrent use, except ForwardedPart, which belongs to one
// goroutine.
type Recorder struct {
	limits Limits
	now    func() time.Time
	queue  *store.Queue[record]
	blocks sync.Pool // of *[]byte, for forwarded lines
	part   partialLine
	done   chan struct{}
	writer *writer // belongs to the goroutine of run
}

// record is one entry of the queue: a message, forwarded lines, a decision, a passed call or a timeout.
type record struct {
	at        time.Time
	received  bool // the message came from side; else it is sent to side
	forwarded bool // the message came from the other side and is sent to side unchanged
	side      bridge.Side
	line      []byte
	longLen   int     // if not 0, the length of the message, of which line is a prefix
	lines     *[]byte // forwarded lines, instead of line
	decision  *decision.Record
	passed    *decision.Record
	timeout   *Timeout
}

// Timeout is a call of a host tool that had no result in time.
type Timeout struct {
	Thread, Turn, Call string
	Tool               string
	After              time.Duration
}

// partialLine collects a line that is forwarded in parts.
type partialLine struct {
	line    []byte
	size    int
	dropped bool // the queue had no room
}

// NewRecorder starts a Recorder. It creates no file before a message names a thread.
func NewRecorder(o Options) *Recorder {
	limits := o.Limits.withDefaults()
	r := &Recorder{limits: limits, now: o.Now, queue: store.NewQueue[record](maxQueued, limits.Memory), done: make(chan struct{})}
	if r.now == nil {
		r.now = time.Now
	}
	r.writer = newWriter(o, r.limits)
	go r.run()
	return r
}

// Received implements bridge.Observer.
func (r *Recorder) Received(from bridge.Side, line []byte) { r.message(true, from, line) }

// Sending implements bridge.Observer.
func (r *Recorder) Sending(to bridge.Side, line []byte) { r.message(false, to, line) }

// Decided records a decision of the policy.
func (r *Recorder) Decided(d decision.Record) {
	r.queue.Put(record{at: r.now(), decision: &d}, 1024, 1)
}

// Passed records a tool call that the policy let run without a question.
func (r *Recorder) Passed(d decision.Record) {
	r.queue.Put(record{at: r.now(), passed: &d}, 1024+len(d.Facts), 1)
}

// TimedOut records that a tool had no result in time.
func (r *Recorder) TimedOut(t Timeout) { r.queue.Put(record{at: r.now(), timeout: &t}, 1024, 1) }

// maxLineLen is the length up to which a queued line is whole. Of a longer one, the queue has the
// first prefixLen bytes.
func (r *Recorder) maxLineLen() int { return r.limits.Memory / 2 }

const prefixLen = 4096

func (r *Recorder) message(received bool, side bridge.Side, line []byte) {
	rec := record{at: r.now(), received: received, side: side}
	line = bytes.TrimRight(line, "\r\n")
	if len(line) > r.maxLineLen() {
		rec.longLen, line = len(line), line[:min(len(line), prefixLen)]
	}
	if r.queue.Fits(len(line), 1) {
		rec.line = bytes.Clone(line)
		r.queue.Put(rec, len(line), 1)
	}
}

// ForwardedLines implements bridge.Observer. Most messages of Codex come here, at the speed of the
// proxy. It costs a copy, or a comparison while the queue is full.
func (r *Recorder) ForwardedLines(lines []byte, count int) {
	if !r.queue.Fits(len(lines), count) {
		return
	}
	r.queue.Put(record{at: r.now(), forwarded: true, side: bridge.Client, lines: r.copyLines(lines)}, len(lines), count)
}

// minPooled is the size from which copies use pooled buffers. A shorter copy is allocated with its
// exact size, since many may be waiting.
const minPooled = rpc.PumpBufferSize / 4

func (r *Recorder) copyLines(lines []byte) *[]byte {
	if len(lines) < minPooled {
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
	case p.dropped:
	case p.size > r.maxLineLen():
		p.line = p.line[:min(len(p.line), prefixLen)]
	case r.queue.Fits(p.size, 0):
		p.line = append(p.line, text...)
	default:
		p.line, p.dropped = nil, true
	}
	if !last {
		return
	}
	rec := record{at: r.now(), forwarded: true, side: bridge.Client, line: bytes.TrimRight(p.line, "\r\n")}
	if p.size > r.maxLineLen() {
		rec.longLen, rec.line = p.size, bytes.Clone(rec.line)
	}
	if p.dropped {
		r.queue.Drop(1)
	} else {
		r.queue.Put(rec, len(rec.line), 1)
	}
	*p = partialLine{}
}

// Dropped returns how many events were dropped because the queue was full.
func (r *Recorder) Dropped() int64 { return r.queue.Dropped() }

// run writes the queue to the files until Close.
func (r *Recorder) run() {
	defer close(r.done)
	if r.writer.Keep > 0 {
		if _, err := Purge(r.writer.Folder, r.now().Add(-r.writer.Keep)); err != nil {
			r.writer.Log.Warn("cannot purge old traces", "error", err)
		}
	}
	var unreported int64 // dropped events without an event that says so
	pace := r.queue.NewPacer()
	for {
		rec, dropped, ok := r.queue.Next()
		unreported += dropped
		if !ok {
			r.writer.end(r.now(), unreported)
			return
		}
		if unreported > 0 && r.writer.writeDropped(rec.at, unreported) {
			unreported = 0
		}
		pace.Begin()
		r.write(rec, pace)
	}
}

func (r *Recorder) write(rec record, pace *store.Pacer[record]) {
	if rec.lines == nil {
		r.writer.write(rec)
		pace.Rest()
		return
	}
	lines := *rec.lines
	for len(lines) > 0 {
		rec.line, lines, _ = bytes.Cut(lines, []byte{'\n'})
		if rec.line = bytes.TrimRight(rec.line, "\r"); len(rec.line) > 0 {
			r.writer.write(rec)
			pace.Rest()
		}
	}
	if cap(*rec.lines) >= rpc.PumpBufferSize {
		*rec.lines = (*rec.lines)[:0]
		r.blocks.Put(rec.lines) // the writer has copies of what it keeps
	}
}

// Close writes the queue, ends open calls and threads, and closes the files.
func (r *Recorder) Close() {
	r.queue.Close()
	<-r.done
}
