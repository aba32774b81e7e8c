package transcript

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"time"

	"codex-bridge/bridge/store"
	"codex-bridge/relay/backlog"
	"codex-bridge/relay/redact"
)

const (
	mostWaiting = 8192     // messages
	mostMemory  = 16 << 20 // bytes of them
	mostItems   = 1 << 20  // turns of a thread, items of a turn
	mostAtOnce  = 64       // messages in one transaction
	lastWords   = 3 * time.Second
)

// Options are what a Mirror is made of.
type Options struct {
	// Store opens the state when it is needed first. It is called again after an error.
	Store func(context.Context) (*store.Store, error)
	// Conversation tells the gaps of this one from those of others.
	Conversation string
	Secrets      []string      // texts that are secrets wherever they stand
	Memory       int           // bytes that wait to be kept; 0: 16 MiB
	Keep         time.Duration // records that are older go when the first is kept; 0: none
	Pause        time.Duration // before the state is tried again; 0: 100 ms, and more each time
	Now          func() time.Time
	Log          *slog.Logger
}

// Mirror is a bridge.Feature that keeps what is said.
type Mirror struct {
	o        Options
	redactor redact.Redactor
	queue    *backlog.Queue[heard]
	threads  threads
	ctx      context.Context
	cancel   context.CancelFunc
	done     chan struct{}

	// The goroutine's.
	gaps    int
	purged  bool
	current string // the thread that was spoken of last
}

// heard is a message that has something to keep.
type heard struct {
	at     time.Time
	thread string
	resume bool // the answer to thread/resume
	method string
	line   []byte
}

// New makes a Mirror, and starts what writes. It opens nothing before there is something to
// keep.
func New(o Options) *Mirror {
	if o.Pause <= 0 {
		o.Pause = 100 * time.Millisecond
	}
	if o.Memory <= 0 {
		o.Memory = mostMemory
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &Mirror{
		o: o, redactor: redact.New(redact.Limits{Items: mostItems}, o.Secrets...), queue: backlog.New[heard](mostWaiting, o.Memory),
		ctx: ctx, cancel: cancel, done: make(chan struct{}),
	}
	go m.write()
	return m
}

// Lost is how many messages were dropped.
func (m *Mirror) Lost() int64 { return m.queue.Dropped() }

// put has a message kept. The line may change afterwards.
func (m *Mirror) put(h heard, line []byte) {
	if m.queue.Fits(len(line), 1) {
		h.at, h.line = m.o.Now(), bytes.Clone(line)
		m.queue.Put(h, len(line), 1)
	}
}

// write is the goroutine that writes; it ends with Close.
func (m *Mirror) write() {
	defer close(m.done)
	for {
		h, dropped, ok := m.queue.Next()
		batch := m.gap(nil, dropped)
		for n := 1; ok; n++ {
			batch = append(batch, m.records(h)...)
			if n == mostAtOnce {
				break
			}
			var more bool
			if h, dropped, more = m.queue.TryNext(); dropped > 0 {
				batch = m.gap(batch, dropped)
			}
			if !more {
				break
			}
		}
		if len(batch) > 0 {
			m.keep(batch)
		}
		if !ok {
			return
		}
	}
}

// gap adds what is known of messages that were dropped.
func (m *Mirror) gap(batch []store.Record, n int64) []store.Record {
	if n == 0 {
		return batch
	}
	m.gaps++
	return append(batch, store.Record{
		Thread: m.current, Kind: store.Gap, Item: fmt.Sprintf("%s/%d", m.o.Conversation, m.gaps), Time: m.o.Now(),
		Text: fmt.Sprintf("%d messages are missing: they came faster than they could be kept", n),
	})
}

// keep keeps records. While the state can't be reached it tries again, until others have to
// be dropped for it, or the conversation has ended.
func (m *Mirror) keep(batch []store.Record) {
	pause := m.o.Pause
	for tried := 0; ; tried++ {
		err := m.try(batch)
		if err == nil {
			if tried > 0 {
				m.o.Log.Warn("the transcript is kept again")
			}
			return
		}
		if tried == 0 {
			m.o.Log.Warn("the transcript waits: the state can't be written", "error", err)
		}
		ended := false
		select {
		case <-m.queue.Closed():
			ended = tried > 0
		case <-time.After(pause):
			pause = min(2*pause, 10*time.Second)
		}
		if ended || m.queue.IsDropping() {
			m.o.Log.Error("a part of the transcript is lost", "records", len(batch), "error", err)
			return
		}
	}
}

func (m *Mirror) try(batch []store.Record) error {
	s, err := m.o.Store(m.ctx)
	if err != nil {
		return err
	}
	if _, err = s.Keep(m.ctx, batch); err != nil {
		return err
	}
	if m.o.Keep > 0 && !m.purged {
		m.purged = true
		if _, err := s.Purge(m.ctx, m.o.Now().Add(-m.o.Keep)); err != nil {
			m.o.Log.Warn("old transcripts stay", "error", err)
		}
	}
	return nil
}

// Close keeps what waits, as far as that takes no longer than a few seconds.
func (m *Mirror) Close() {
	m.queue.Close()
	timer := time.AfterFunc(lastWords, m.cancel)
	defer timer.Stop()
	<-m.done
	m.cancel()
}
