package trace

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/store"
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
	Now     func() time.Time // nil: time.Now
	Log     *slog.Logger
}

// Recorder is a bridge.Tap that writes what it is told. Nobody waits for it.
type Recorder struct {
	limits  Limits
	now     func() time.Time
	queue   chan told
	waiting atomic.Int64 // bytes
	dropped atomic.Int64 // events, since the last that was written
	lost    atomic.Int64 // events, of all

	once sync.Once
	quit chan struct{}
	done chan struct{}
	s    *session // the goroutine's
}

// told is what the Recorder was told.
type told struct {
	at       time.Time
	heard    bool // else told
	party    bridge.Party
	line     []byte
	long     int // bytes, where line is only the start
	decision *store.Decision
}

// NewRecorder starts a Recorder. It makes no file before a thread is spoken of.
func NewRecorder(o Options) *Recorder {
	r := &Recorder{
		limits: o.Limits.orDefault(), now: o.Now,
		queue: make(chan told, most), quit: make(chan struct{}), done: make(chan struct{}),
	}
	if r.now == nil {
		r.now = time.Now
	}
	r.s = newSession(o, r.limits)
	go r.write()
	return r
}

// Heard implements bridge.Tap.
func (r *Recorder) Heard(from bridge.Party, line []byte) { r.message(true, from, line) }

// Told implements bridge.Tap.
func (r *Recorder) Told(to bridge.Party, line []byte) { r.message(false, to, line) }

// Decided is told what the policy changed or refused.
func (r *Recorder) Decided(d store.Decision) { r.put(told{decision: &d}, 1024) }

func (r *Recorder) message(heard bool, party bridge.Party, line []byte) {
	t := told{heard: heard, party: party}
	line = bytes.TrimRight(line, "\r\n")
	if len(line) > r.limits.Memory/4 {
		t.long, line = len(line), line[:min(len(line), 4096)]
	}
	if int(r.waiting.Load())+len(line) > r.limits.Memory {
		r.drop() // before it is copied
		return
	}
	t.line = bytes.Clone(line)
	r.put(t, len(line))
}

func (r *Recorder) put(t told, size int) {
	t.at = r.now()
	r.waiting.Add(int64(size))
	select {
	case r.queue <- t:
	default:
		r.waiting.Add(-int64(size))
		r.drop()
	}
}

func (r *Recorder) drop() {
	r.dropped.Add(1)
	r.lost.Add(1)
}

// Lost is how many events were not written because too many were waiting.
func (r *Recorder) Lost() int64 { return r.lost.Load() }

// Where is the file of a thread.
func (r *Recorder) Where(thread string) string { return filepath.Join(r.s.Folder, FileName(thread)) }

// write is the goroutine that writes; it ends with Close.
func (r *Recorder) write() {
	defer close(r.done)
	for {
		select {
		case t := <-r.queue:
			r.take(t)
		case <-r.quit:
			for {
				select {
				case t := <-r.queue:
					r.take(t)
				default:
					r.s.end(r.now(), r.dropped.Swap(0))
					return
				}
			}
		}
	}
}

func (r *Recorder) take(t told) {
	size := len(t.line)
	if t.decision != nil {
		size = 1024
	}
	if n := r.dropped.Swap(0); n > 0 && !r.s.droppedEvents(t.at, n) {
		r.dropped.Add(n) // with the next
	}
	r.s.take(t)
	r.waiting.Add(-int64(size))
}

// Close writes what waits, ends what has no end, and closes the files.
func (r *Recorder) Close() {
	r.once.Do(func() { close(r.quit) })
	<-r.done
}
