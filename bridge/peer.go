package bridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"codex-bridge/rpc"
)

// Peer is a feature's own voice: requests to codex whose answers the client
// never sees, and notifications to the client.
type Peer struct {
	p       *Proxy
	feature int // its place among the features
}

// Ask sends codex a request of our own and waits for its answer. It must not be
// called by a handler of codex's messages. The error is a *rpc.Error when codex
// answered with one.
func (p *Peer) Ask(ctx context.Context, method string, params any) (rpc.Value, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return rpc.Value{}, err
	}
	w := p.p.waiting.own()
	defer p.p.waiting.drop(w.id.Key())
	if err := p.p.toCodex(append(rpc.Call(w.id, method, raw), '\n')); err != nil {
		return rpc.Value{}, rpc.Errorf(rpc.CodeUpstream, "codex takes no more requests: %v", err)
	}
	select {
	case e := <-w.answer:
		if e == nil {
			return rpc.Value{}, rpc.Errorf(rpc.CodeTooLarge, "codex's answer to %s is too long", method)
		}
		if failed := e.Root().Get("error"); failed.Exists() {
			message, _ := failed.Get("message").Text()
			return rpc.Value{}, rpc.Errorf(rpc.CodeUpstream, "codex refused %s: %s", method, message)
		}
		return e.Root().Get("result"), nil
	case <-p.p.child.Done():
		return rpc.Value{}, rpc.Errorf(rpc.CodeUpstream, "codex ended before it answered %s", method)
	case <-ctx.Done():
		return rpc.Value{}, rpc.Errorf(rpc.CodeDeadline, "no answer to %s: %v", method, context.Cause(ctx))
	}
}

// Tell sends the client a notification. It may be called from anywhere but before
// the client has said something.
func (p *Peer) Tell(method string, params any) {
	raw, err := json.Marshal(params)
	if err != nil {
		panic(err) // a programming error: params is the bridge's own
	}
	<-p.p.ready
	p.p.out.Message(rpc.Call(rpc.ID{}, method, raw))
}

// AskClient sends the client a request of our own and waits for its answer, which
// codex never sees. It must not be called by a handler of the client's messages. The
// error is a *rpc.Error when the client answered with one, or not before ctx ended;
// an answer that comes later is one to nothing.
func (p *Peer) AskClient(ctx context.Context, method string, params any) (rpc.Value, error) {
	result, _, err := p.askClient(ctx, method, params)
	return result, err
}

// AskPerson is AskClient for a question in the place of one of Codex's about a thread:
// the client is told when it is no question any more, as Codex tells it.
func (p *Peer) AskPerson(ctx context.Context, thread, method string, params any) (rpc.Value, error) {
	result, id, err := p.askClient(ctx, method, params)
	if id.IsValid() {
		p.Tell("serverRequest/resolved", map[string]any{"threadId": thread, "requestId": json.RawMessage(id.Raw())})
	}
	return result, err
}

func (p *Peer) askClient(ctx context.Context, method string, params any) (result rpc.Value, id rpc.ID, err error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return rpc.Value{}, id, err
	}
	select {
	case <-p.p.ready:
	case <-ctx.Done():
		return rpc.Value{}, id, rpc.Errorf(rpc.CodeDeadline, "the client has not spoken yet: %v", context.Cause(ctx))
	}
	id = p.p.waiting.id()
	answer := make(chan *rpc.Message, 1)
	p.p.asked.add(id, &question{own: answer})
	defer p.p.asked.drop(id.Key())
	p.p.out.Message(rpc.Call(id, method, raw))
	select {
	case m := <-answer:
		if failed := m.Root().Get("error"); failed.Exists() {
			message, _ := failed.Get("message").Text()
			return rpc.Value{}, id, rpc.Errorf(rpc.CodeInternal, "the client refused %s: %s", method, message)
		}
		return m.Root().Get("result"), id, nil
	case <-p.p.left:
		return rpc.Value{}, id, rpc.Errorf(rpc.CodeInternal, "the client left before it answered %s", method)
	case <-p.p.child.Done():
		return rpc.Value{}, id, rpc.Errorf(rpc.CodeUpstream, "codex ended before the client answered %s", method)
	case <-ctx.Done():
		return rpc.Value{}, id, rpc.Errorf(rpc.CodeDeadline, "the client did not answer %s: %v", method, context.Cause(ctx))
	}
}

// Settled tells that codex waits no more for an answer to its request of that id:
// an answer that still comes is one to nothing.
func (p *Peer) Settled(id rpc.ID) { p.p.asked.drop(id.Key()) }

// Ended is closed when codex has.
func (p *Peer) Ended() <-chan struct{} { return p.p.child.Done() }

// CodexPID is codex's process id.
func (p *Peer) CodexPID() int { return p.p.child.PID() }

// waiter is a request whose answer somebody here wants.
type waiter struct {
	id     rpc.ID
	answer chan *rpc.Envelope // ours
	client []func(*Answer)    // a client's
}

// waiting are the requests under way whose answers are wanted, by rpc.ID.Key.
type waiting struct {
	prefix string // random: no client can guess the id of a request of ours
	n      atomic.Int64
	count  atomic.Int64 // len(m), for a look without the lock

	mu   sync.Mutex
	m    map[string]*waiter
	ours map[string]chan<- []byte // where the answers to Peer.Request go, each of which holds one
}

func newWaiting() *waiting {
	return &waiting{prefix: "codex-bridge-" + rand.Text() + "-", m: make(map[string]*waiter), ours: make(map[string]chan<- []byte)}
}

// id is a new one for a request of ours, to whichever side.
func (w *waiting) id() rpc.ID { return rpc.NewStringID(w.prefix + strconv.FormatInt(w.n.Add(1), 10)) }

func (w *waiting) own() *waiter {
	id := w.id()
	one := &waiter{id: id, answer: make(chan *rpc.Envelope, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.m[id.Key()] = one
	w.count.Store(int64(len(w.m)))
	return one
}

// add keeps a client's request. Two under one id could not be told apart.
func (w *waiting) add(id rpc.ID, f []func(*Answer)) *rpc.Error {
	id = id.Clone()
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.m[id.Key()]; ok {
		return rpc.Errorf(rpc.CodeInvalidRequest, "id %s is that of a request still under way; use each id once", id.Raw())
	}
	w.m[id.Key()] = &waiter{id: id, client: f}
	w.count.Store(int64(len(w.m)))
	return nil
}

func (w *waiting) drop(key string) *waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.m[key]
	delete(w.m, key)
	w.count.Store(int64(len(w.m)))
	return one
}

// has tells whether somebody here wants the answer of that id. One that nobody does is
// over with it.
func (w *waiting) has(key []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	one, ok := w.m[string(key)] // does not allocate
	if !ok || one.answer != nil || len(one.client) > 0 {
		return ok
	}
	if _, ours := w.ours[string(key)]; ours {
		return true
	}
	delete(w.m, string(key))
	w.count.Store(int64(len(w.m)))
	return false
}

// left are the client's requests that have no answer, which they will not get any more.
func (w *waiting) left() (ids []rpc.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, one := range w.m {
		if _, ours := w.ours[key]; one.answer == nil && !ours {
			ids = append(ids, one.id)
		}
	}
	clear(w.m)
	w.count.Store(0)
	return ids
}

// expect has the answer to a request of ours, as it would go to the client, go to answer.
func (w *waiting) expect(id rpc.ID, answer chan<- []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ours[id.Key()] = answer
}

// answers gives an answer to the feature that has asked; false: it is the client's.
func (w *waiting) answers(id rpc.ID, line []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.ours) == 0 {
		return false
	}
	answer, ok := w.ours[id.Key()]
	if ok {
		delete(w.ours, id.Key())
		answer <- bytes.Clone(line)
	}
	return ok
}

// describe names a request in a log.
func describe(m *rpc.Message) string {
	if m.Kind == rpc.Request {
		return fmt.Sprintf("%s (id %s)", m.Method, m.ID.Raw())
	}
	return m.Method
}
