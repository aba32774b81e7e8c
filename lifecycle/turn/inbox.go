package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"codex-bridge.example/rpc"
)

// ErrInboxFull is returned if too many messages wait.
var ErrInboxFull = rpc.Errorf(rpc.CodeBusy, "too many messages are waiting for this thread; wait for an answer before sending more")

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

// InboxOptions configure an Inbox. All are required.
type InboxOptions struct {
	Thread *Thread
	// Start returns the parameters of turn/start for an input.
	Start func(input []json.RawMessage) (json.RawMessage, error)
	// Answer answers the pending question of the model and reports whether there was one. It is
	// not called for a message without a text.
	Answer func(text string) bool
	// Failed is called for a message that was reported as queued and could not be sent. It must
	// not block.
	Failed func(Message, error)
}

// Inbox holds the waiting messages of one thread.
type Inbox struct {
	o           InboxOptions
	maxMessages int
	wake        chan struct{} // capacity 1; wakes Run

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
	return &Inbox{o: o, maxMessages: maxMessages, wake: make(chan struct{}, 1)}
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
	m.Mode = cmp.Or(m.Mode, ModeSteer)
	w := &waiting{Message: m, answers: make(chan sendResult, 1)}
	for _, item := range m.Input {
		w.size += len(item)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.line) >= b.maxMessages || b.bytes+w.size > maxMessageBytes {
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
