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
	// maxBatch is the maximum number of messages in one request. When as many wait, they are sent at once.
	maxBatch = 100
	// maxBatchBytes keeps the texts of one request under the 1,048,576 characters that Codex
	// takes (measured).
	maxBatchBytes = 1 << 20
)

// InboxOptions configure an Inbox.
type InboxOptions struct {
	Thread *Thread
	// Start writes turn/start for an input; nil: with the thread's own settings.
	Start func(input []json.RawMessage) (json.RawMessage, error)
	// Answer answers the question that the model waits for, if there is one; nil: there
	// are none. A message without a text is none.
	Answer func(text string) bool
	// Failed is told of a message that was queued and could not be sent after all; nil:
	// nobody is. It must not wait.
	Failed func(Message, error)
	// Most is how many messages may wait; 0: 1,000.
	Most int
}

// Inbox holds the waiting messages of one thread.
type Inbox struct {
	o    InboxOptions
	wake chan struct{} // holds one: something came

	mu    sync.Mutex
	line  []*waiting
	bytes int
	quiet time.Time // no message is sent before that came before it
	sent  []batch   // to a running turn; what became of it is not known

	stopped bool // nothing is sent any more
}

// batch are messages that were sent together.
type batch struct {
	messages []*waiting
	sent     *sentInput
}

// NewInbox returns an Inbox.
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
	if o.Most == 0 {
		o.Most = maxMessages
	}
	return &Inbox{o: o, wake: make(chan struct{}, 1)}
}

// Put takes a message: when it returns, that has its place in line. wait tells what became of it
// when its quiet time is over; who is called off before it was sent takes it back.
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
	if b.takeBack(w) {
		return Delivery{}, context.Cause(ctx)
	}
	a := <-w.answers // Codex is being asked, and answers within a time
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
	if len(b.line) >= b.o.Most || b.bytes+w.size > maxMessageBytes {
		return nil, ErrInboxFull
	}
	b.line = append(b.line, w)
	b.bytes += w.size
	b.quiet = time.Now().Add(m.Quiet)
	b.ring()
	return w, nil
}

// takeBack takes a message out of the line that nobody has been told of.
func (b *Inbox) takeBack(w *waiting) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.going || w.told {
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

func (b *Inbox) ring() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Waiting is how many messages wait for a turn, or for the quiet time to be over.
func (b *Inbox) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.line)
}
