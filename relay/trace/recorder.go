package trace

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/store"
	"codex-bridge/relay/backlog"
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
	Log     *slog.Logger
}

// Recorder is a bridge.Tap that writes what it is told. Nobody waits for it.
type Recorder struct {
	limits Limits
	now    func() time.Time
	queue  *backlog.Queue[told]
	done   chan struct{}
	s      *session // the goroutine's
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
	limits := o.Limits.orDefault()
	r := &Recorder{limits: limits, now: o.Now, queue: backlog.New[told](most, limits.Memory), done: make(chan struct{})}
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
func (r *Recorder) Decided(d store.Decision) { r.queue.Put(told{at: r.now(), decision: &d}, 1024) }

func (r *Recorder) message(heard bool, party bridge.Party, line []byte) {
	t := told{at: r.now(), heard: heard, party: party}
	line = bytes.TrimRight(line, "\r\n")
	if len(line) > r.limits.Memory/4 {
		t.long, line = len(line), line[:min(len(line), 4096)]
	}
	if r.queue.Fits(len(line)) {
		t.line = bytes.Clone(line)
		r.queue.Put(t, len(line))
	}
}

// Lost is how many events were not written because too many were waiting.
func (r *Recorder) Lost() int64 { return r.queue.Lost() }

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
		r.s.take(t)
	}
}

// Close writes what waits, ends what has no end, and closes the files.
func (r *Recorder) Close() {
	r.queue.Close()
	<-r.done
}
