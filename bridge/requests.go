package bridge

import (
	"bytes"
	"sync/atomic"
	"time"

	"codex-bridge/rpc"
)

// pendingRequest is a request to Codex that has no answer yet.
type pendingRequest struct {
	id       rpc.ID
	since    time.Time
	response chan *rpc.Envelope      // for Peer.Ask
	handlers []func(*ServerResponse) // Call.OnAnswer
}

// pendingRequests are the requests to Codex that the bridge keeps until their answer, by
// rpc.ID.Key: the client's and the bridge's own. The conversation's mutex guards it but
// for ids and count.
type pendingRequests struct {
	ids   *idGenerator // of the bridge's own requests, whose answers never reach the client
	count atomic.Int64 // len(byKey) and len(abandoned), to be read without the lock

	byKey map[string]*pendingRequest
	// replies are where the answers to Peer.Request go. Each holds one.
	replies map[string]chan<- []byte
	last    *pendingRequest // most recently removed by wantsAnswer; restored if its answer was cut off
	// abandoned are the keys of requests that were given up. Their answers may still come, so
	// that their ids can't be used again.
	abandoned map[string]bool
	// noneBefore is when a request may be old enough to be given up, by what is known.
	nextAbandon time.Time
}

func newPendingRequests() pendingRequests {
	return pendingRequests{ids: newIDGenerator(), byKey: make(map[string]*pendingRequest), abandoned: make(map[string]bool), replies: make(map[string]chan<- []byte)}
}

// Bounds of what a client may have under way, where the bridge keeps its requests.
const (
	maxPending = 4096    // requests; as many again of those that are urgent
	maxIDLen   = 1 << 10 // bytes of an id, as it is written
	// abandonedAfter is how long a request keeps its place when others need it. Codex drops
	// some messages without an answer (docs/design.md).
	abandonedAfter = time.Minute
	// maxAbandoned bounds the requests that are given up and never answered. Beyond it none
	// is, and the client gets an error.
	maxAbandoned = 4 * maxPending
)

// newRequest registers a request of the bridge's own.
func (c *conversation) newRequest() *pendingRequest {
	r := &pendingRequest{id: c.requests.ids.next(), since: time.Now(), response: make(chan *rpc.Envelope, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setRequest(r.id.Key(), r)
	return r
}

// setRequest and removeRequest are called with the lock held.
func (c *conversation) setRequest(key string, r *pendingRequest) {
	c.requests.byKey[key] = r
	c.countRequests()
}

// countRequests counts the abandoned ones, too: their answers end them. It is called with
// the lock held.
func (c *conversation) countRequests() {
	c.requests.count.Store(int64(len(c.requests.byKey) + len(c.requests.abandoned)))
}

func (c *conversation) removeRequest(key string) *pendingRequest {
	r := c.requests.byKey[key]
	delete(c.requests.byKey, key)
	c.countRequests()
	return r
}

// registerRequest keeps a request with its handlers. Two under one id could not be told
// apart. Where too many are pending the oldest is given up, if it is old: an answer that
// Codex gives to it after all passes to the client. The caller tells its handlers.
func (c *conversation) registerRequest(id rpc.ID, urgent bool, handlers []func(*ServerResponse)) (abandoned *pendingRequest, refused *rpc.Error) {
	if len(id.Raw()) > maxIDLen {
		return nil, rpc.Errorf(rpc.CodeInvalidRequest, "an id of %d bytes; the longest that is kept has %d", len(id.Raw()), maxIDLen)
	}
	limit := maxPending
	if urgent {
		limit *= 2
	}
	id = id.Clone()
	key := id.Key()
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.requests.byKey[key]; ok {
		return nil, rpc.Errorf(rpc.CodeInvalidRequest, "id %s is that of a request still under way; use each id once", id.Raw())
	}
	if c.requests.abandoned[key] {
		return nil, rpc.Errorf(rpc.CodeInvalidRequest, "id %s is that of a request which codex has not answered; use each id once", id.Raw())
	}
	if n := len(c.requests.byKey); n >= limit && !c.requests.ids.generated(key) {
		if abandoned = c.abandon(now); abandoned == nil {
			return nil, rpc.Errorf(rpc.CodeOverloaded, "%d requests are under way already; read their answers, and try again", n)
		}
	}
	c.setRequest(key, &pendingRequest{id: id, since: now, handlers: handlers})
	return abandoned, nil
}

// abandon gives up the oldest request if it is old; nil: it is not. It is called with the
// lock held.
func (c *conversation) abandon(now time.Time) *pendingRequest {
	if now.Before(c.requests.nextAbandon) || len(c.requests.abandoned) >= maxAbandoned {
		return nil
	}
	var oldest *pendingRequest
	for _, r := range c.requests.byKey {
		if r.response == nil && (oldest == nil || r.since.Before(oldest.since)) {
			oldest = r
		}
	}
	if oldest == nil {
		return nil
	}
	if old := oldest.since.Add(abandonedAfter); now.Before(old) {
		c.requests.nextAbandon = old
		return nil
	}
	key := oldest.id.Key()
	c.requests.abandoned[key] = true
	return c.removeRequest(key)
}

// dropRequest removes a request.
func (c *conversation) dropRequest(key string) *pendingRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.removeRequest(key)
}

// mayWantAnswer reports whether wantsAnswer may be true of an answer.
func (c *conversation) mayWantResponse() bool {
	return c.requests.count.Load() > 0 || c.requests.ids.used()
}

// wantsAnswer reports whether an answer must not just pass: a handler wants it, or it is
// to a request of the bridge's own. One that passes ends its request.
func (c *conversation) wantsResponse(key []byte) bool {
	if c.requests.ids.generatedRaw(key) {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.requests.byKey[string(key)] // does not allocate
	if !ok && c.requests.abandoned[string(key)] {
		delete(c.requests.abandoned, string(key))
		c.countRequests()
		return false
	}
	if !ok || r.response != nil || len(r.handlers) > 0 {
		return ok
	}
	delete(c.requests.byKey, string(key))
	c.requests.last = r
	c.countRequests()
	return false
}

// restoreRequest is for an answer that has passed and was cut off: the request has none.
func (c *conversation) restoreRequest(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := c.requests.last; last != nil && last.id.Key() == key && c.requests.byKey[key] == nil {
		c.setRequest(key, last)
	}
}

// unanswered removes all requests and returns the ids of the client's.
func (c *conversation) unanswered() (ids []rpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, r := range c.requests.byKey {
		if !c.requests.ids.generated(key) {
			ids = append(ids, r.id)
		}
	}
	clear(c.requests.byKey)
	c.countRequests()
	return ids
}

// expectReply has the answer to a request of Peer.Request, as the client would get it, go
// to reply.
func (c *conversation) expectReply(id rpc.ID, reply chan<- []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests.replies[id.Key()] = reply
}

// deliverReply gives an answer to the Peer.Request that waits for it; false: the answer is
// the client's.
func (c *conversation) deliverReply(id rpc.ID, line []byte) bool {
	key := id.Key()
	if !c.requests.ids.generated(key) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if reply, ok := c.requests.replies[key]; ok {
		delete(c.requests.replies, key)
		reply <- bytes.Clone(line)
	}
	return true
}

// forgetReply is for a Peer.Request that waits no more.
func (c *conversation) forgetReply(id rpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.requests.replies, id.Key())
}
