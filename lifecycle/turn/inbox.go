package turn

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

var (
	// ErrInboxFull is returned if too many messages wait.
	ErrInboxFull = errors.New("too many messages are waiting for this thread; wait for an answer before sending more")
	// ErrEmptyMessage is returned for a message without input.
	ErrEmptyMessage = errors.New("the message is empty")
)

const (
	// maxMessages is the maximum number of waiting messages.
	maxMessages = 1000
	// maxMessageBytes is the maximum size of all waiting messages together.
	maxMessageBytes = 64 << 20
	// maxBatch is the maximum number of messages in one request. When as many wait, they are sent at
	// once.
	maxBatch = 100
	// maxBatchBytes keeps the texts of one request under the 1,048,576 characters that Codex
	// takes (measured).
	maxBatchBytes = 1 << 20
)

// InboxOptions configure an Inbox.
type InboxOptions struct {
	Thread *Thread
	// Start returns the parameters of turn/start for an input. By default the turn has the
	// thread's settings.
	Start func(input []json.RawMessage) (json.RawMessage, error)
	// Answer answers the pending question of the model and reports whether there was one. By
	// default there is none. Answer is not called for a message without a text.
	Answer func(text string) bool
	// Failed is called for a message that was reported as queued and could not be sent. It may be
	// nil, and must not block.
	Failed func(Message, error)
	// MaxMessages is the maximum number of waiting messages; 0 means 1,000.
	MaxMessages int
}

// Inbox holds the waiting messages of one thread.
type Inbox struct {
	o    InboxOptions
	wake chan struct{} // capacity 1; wakes Run

	mu    sync.Mutex
	line  []*waiting
	bytes int
	quiet time.Time // when the quiet time of the last message ends
	sent  []batch   // sent to a turn, with an unknown result

	stopped bool
}

// batch holds messages that were sent in one request.
type batch struct {
	messages []*waiting
	sent     *sentInput
}

// NewInbox returns an empty Inbox. It sends nothing before Run.
func NewInbox(o InboxOptions) *Inbox {
	if o.Start == nil {
		o.Start = func(input []json.RawMessage) (json.RawMessage, error) {
			return json.Marshal(map[string]any{"threadId": o.Thread.ID, "input": input})
		}
	}
	if o.Answer == nil {
		o.Answer = func(string) bool { return false }
	}
	if o.Failed == nil {
		o.Failed = func(Message, error) {}
	}
	if o.MaxMessages == 0 {
		o.MaxMessages = maxMessages
	}
	return &Inbox{o: o, wake: make(chan struct{}, 1)}
}

// Put adds a message to the queue. wait returns its delivery after the quiet time. If wait's
// context ends before the message is sent, wait removes the message and returns the cause.
func (b *Inbox) Put(m Message) (wait func(context.Context) (Delivery, error), err error) {
	if strings.TrimSpace(m.Text) != "" && b.o.Answer(m.Text) {
		return func(context.Context) (Delivery, error) { return Delivery{Disposition: DispositionAnswered}, nil }, nil
	}
	w, err := b.add(m)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (Delivery, error) { return b.await(ctx, w) }, nil
}

func (b *Inbox) await(ctx context.Context, w *waiting) (Delivery, error) {
	select {
	case a := <-w.answers:
		return a.Delivery, a.err
	case <-ctx.Done():
	}
	if b.withdraw(w) {
		return Delivery{}, context.Cause(ctx)
	}
	a := <-w.answers // the request is in flight; it has a timeout
	return a.Delivery, a.err
}

func (b *Inbox) add(m Message) (*waiting, error) {
	mode, err := m.Mode.check()
	if err != nil {
		return nil, err
	}
	if len(m.Input) == 0 {
		return nil, ErrEmptyMessage
	}
	m.Mode = mode
	w := &waiting{Message: m, answers: make(chan sendResult, 1)}
	for _, item := range m.Input {
		w.size += len(item)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.line) >= b.o.MaxMessages || b.bytes+w.size > maxMessageBytes {
		return nil, ErrInboxFull
	}
	b.line = append(b.line, w)
	b.bytes += w.size
	b.quiet = time.Now().Add(m.Quiet)
	b.signal()
	return w, nil
}

// withdraw removes a message unless it is being sent or its sender has an answer. It reports
// whether it did.
func (b *Inbox) withdraw(w *waiting) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.sending || w.answered {
		return false
	}
	b.remove(w)
	return true
}

func (b *Inbox) remove(w *waiting) {
	if i := slices.Index(b.line, w); i >= 0 {
		b.line = slices.Delete(b.line, i, i+1)
		b.bytes -= w.size
	}
}

func (b *Inbox) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Waiting returns the number of messages that wait for a turn or for the end of the quiet time.
func (b *Inbox) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.line)
}
