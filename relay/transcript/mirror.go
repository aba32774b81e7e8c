package transcript

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"time"

	"codex-bridge.example/bridge/store"
	"codex-bridge.example/relay/redact"
)

const (
	maxQueued     = 16384    // messages
	defaultMemory = 16 << 20 // bytes of them
	maxItems      = 1 << 20  // turns of a thread, items of a turn
	maxBatch      = 256      // messages in one transaction
	// batchDelay is how long the first message of a batch waits for others. Codex completes several
	// items at about the same time, and a transaction costs more than the records in it.
	batchDelay = 50 * time.Millisecond
	// maxRest limits the pause after a batch. While the queue is less than half full, the writer pauses
	// as long as it has worked, since the stream of messages needs the processor.
	maxRest      = 100 * time.Millisecond
	closeTimeout = 3 * time.Second
)

// Options configure a Mirror.
type Options struct {
	// Store opens the store. It is called before the first write, and again after an error.
	Store func(context.Context) (*store.Store, error)
	// Conversation is an id that makes the ids of this conversation's gaps unique.
	Conversation string
	Secrets      []string      // texts to redact
	MaxMemory    int           // bytes of queued messages; 0: 16 MiB
	MaxAge       time.Duration // older records are deleted with the first write; 0: none
	RetryDelay   time.Duration // delay before the first retry, doubled each time; 0: 100 ms
	Now          func() time.Time
	Log          *slog.Logger
}

// Mirror stores transcripts. It is a bridge.Feature.
type Mirror struct {
	options   Options
	redactor  redact.Redactor
	queue     *store.Queue[message]
	ephemeral recentIDs // threads
	ctx       context.Context
	cancel    context.CancelFunc
	done      chan struct{}

	// Used only by the goroutine.
	gaps       int
	purged     bool
	lastThread string // the thread of the last message
}

// message is a message with records.
type message struct {
	at     time.Time
	thread string
	resume bool // it is the response to thread/resume
	method string
	line   []byte
}

// New returns a Mirror and starts its goroutine. It opens the store only when there is a
// record. The caller must call Close.
func New(o Options) *Mirror {
	if o.RetryDelay <= 0 {
		o.RetryDelay = 100 * time.Millisecond
	}
	if o.MaxMemory <= 0 {
		o.MaxMemory = defaultMemory
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &Mirror{
		options: o, redactor: redact.New(redact.Limits{Items: maxItems}, o.Secrets...), queue: store.NewQueue[message](maxQueued, o.MaxMemory),
		ctx: ctx, cancel: cancel, done: make(chan struct{}),
	}
	go m.run()
	return m
}

// Dropped returns the number of dropped messages.
func (m *Mirror) Dropped() int64 { return m.queue.Dropped() }

// enqueue queues a copy of the line.
func (m *Mirror) enqueue(h message, line []byte) {
	if m.queue.Fits(len(line), 1) {
		h.at, h.line = m.options.Now(), bytes.Clone(line)
		m.queue.Put(h, len(line), 1)
	}
}

// run writes queued messages until Close.
func (m *Mirror) run() {
	defer close(m.done)
	for {
		h, dropped, ok := m.next()
		began := time.Now()
		batch := m.addGap(nil, dropped)
		for n := 1; ok; n++ {
			batch = append(batch, m.records(h)...)
			if n == maxBatch {
				break
			}
			var more bool
			if h, dropped, more = m.queue.TryNext(); dropped > 0 {
				batch = m.addGap(batch, dropped)
			}
			if !more {
				break
			}
		}
		retried := len(batch) > 0 && m.storeBatch(batch)
		if !ok {
			return
		}
		if !retried && !m.queue.IsHalfFull() {
			m.wait(min(time.Since(began), maxRest))
		}
	}
}

// next waits for a message, and then for others to follow. It does not wait for those if
// messages are queued already.
func (m *Mirror) next() (h message, dropped int64, ok bool) {
	if h, dropped, ok = m.queue.TryNext(); ok {
		return h, dropped, true
	}
	h, more, ok := m.queue.Next()
	if ok {
		m.wait(batchDelay)
	}
	return h, dropped + more, ok
}

// wait waits, but not after Close.
func (m *Mirror) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-m.queue.Closed():
	}
}

// addGap appends a record of n dropped messages.
func (m *Mirror) addGap(batch []store.Record, n int64) []store.Record {
	if n == 0 {
		return batch
	}
	m.gaps++
	return append(batch, store.Record{
		Thread: m.lastThread, Kind: store.Gap, Item: fmt.Sprintf("%s/%d", m.options.Conversation, m.gaps), Time: m.options.Now(),
		Text: fmt.Sprintf("%d messages are missing: they came faster than they could be kept", n),
	})
}

// storeBatch stores records. If the store can't be reached it retries, until messages are
// dropped meanwhile or the Mirror is closed.
func (m *Mirror) storeBatch(batch []store.Record) (retried bool) {
	pause := m.options.RetryDelay
	for tried := 0; ; tried++ {
		err := m.tryStore(batch)
		if err == nil {
			if tried > 0 {
				m.options.Log.Warn("the transcript is stored again")
			}
			return tried > 0
		}
		if tried == 0 {
			m.options.Log.Warn("the transcript can't be stored; retrying", "error", err)
		}
		ended := false
		select {
		case <-m.queue.Closed():
			ended = tried > 0
		case <-time.After(pause):
			pause = min(2*pause, 10*time.Second)
		}
		if ended || m.queue.IsDropping() {
			m.options.Log.Error("records of the transcript are lost", "records", len(batch), "error", err)
			return true
		}
	}
}

func (m *Mirror) tryStore(batch []store.Record) error {
	s, err := m.options.Store(m.ctx)
	if err != nil {
		return err
	}
	if _, err = s.AddRecords(m.ctx, batch); err != nil {
		return err
	}
	if m.options.MaxAge > 0 && !m.purged {
		m.purged = true
		if _, err := s.PurgeRecords(m.ctx, m.options.Now().Add(-m.options.MaxAge)); err != nil {
			m.options.Log.Warn("old transcripts not deleted", "error", err)
		}
	}
	return nil
}

// Close stores queued messages until ctx ends, for at most closeTimeout.
func (m *Mirror) Close(ctx context.Context) {
	m.queue.Close()
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, m.cancel)()
	<-m.done
	m.cancel()
}
