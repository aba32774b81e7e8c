package bridge

import (
	"bytes"
	"crypto/rand"
	"strconv"
	"sync/atomic"
	"time"

	"codex-bridge.example/rpc"
)

// pendingRequest is a request to Codex that has no answer yet.
type pendingRequest struct {
	id       rpc.ID
	since    time.Time
	response chan *rpc.Envelope      // for Conn.Call
	handlers []func(*ServerResponse) // ClientMessage.OnResponse
}

// pendingRequests are the requests to Codex, of the client and of the bridge, that the bridge
// keeps until their response, by rpc.ID.Key. The conversation's mutex guards all fields
// except ids and count.
type pendingRequests struct {
	ids   *idGenerator // for requests whose responses the client does not see
	count atomic.Int64 // len(byKey)+len(abandoned), to be read without the lock

	byKey map[string]*pendingRequest
	// replies receive the responses for Conn.CallAsClient. Each has room for one.
	replies map[string]chan<- []byte
	last    *pendingRequest // most recently removed by wantsResponse; restored if its line was truncated
	// abandoned has the keys of abandoned requests. Their responses may still come, so their ids
	// can't be used again.
	abandoned map[string]bool
	closed    bool // the conversation with Codex has ended
	// nextAbandon is the earliest time at which a request may be old enough to be abandoned.
	nextAbandon time.Time
}

func newPendingRequests() pendingRequests {
	return pendingRequests{ids: newIDGenerator(), byKey: make(map[string]*pendingRequest), abandoned: make(map[string]bool), replies: make(map[string]chan<- []byte)}
}

// Limits for a client's requests that the bridge keeps.
const (
	maxPending = 4096    // requests; twice as many for urgent ones
	maxIDLen   = 1 << 10 // bytes of an id as written
	// abandonedAfter is the age at which a request is abandoned if there are too many. Codex
	// drops some messages without a response (docs/internals/codex.md).
	abandonedAfter = time.Minute
	// maxAbandoned is the maximum number of abandoned requests. Beyond it the client gets an
	// error for a new request.
	maxAbandoned = 4 * maxPending
)

// newRequest registers a request of the bridge.
func (c *conversation) newRequest() *pendingRequest {
	r := &pendingRequest{id: c.requests.ids.next(), since: time.Now(), response: make(chan *rpc.Envelope, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setRequest(r.id.Key(), r)
	return r
}

// setRequest adds a request. The lock must be held, as for the next two functions.
func (c *conversation) setRequest(key string, r *pendingRequest) {
	c.requests.byKey[key] = r
	c.countRequests()
}

// countRequests updates count. It counts abandoned requests, too: their responses remove them.
func (c *conversation) countRequests() {
	c.requests.count.Store(int64(len(c.requests.byKey) + len(c.requests.abandoned)))
}

func (c *conversation) removeRequest(key string) *pendingRequest {
	r := c.requests.byKey[key]
	delete(c.requests.byKey, key)
	c.countRequests()
	return r
}

// registerRequest adds a request with its handlers. The id must not be pending. If there are
// too many requests it abandons the oldest one, if that is old, and returns it: the caller
// runs its handlers. A late response to it is forwarded to the client.
func (c *conversation) registerRequest(id rpc.ID, urgent bool, handlers []func(*ServerResponse)) (abandoned *pendingRequest, refused *rpc.Error) {
	if len(id.Raw()) > maxIDLen {
		return nil, rpc.Errorf(rpc.CodeInvalidRequest, "the id has %d bytes; the maximum is %d", len(id.Raw()), maxIDLen)
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
	if c.requests.closed {
		return nil, rpc.Errorf(rpc.CodeUpstream, "codex has ended")
	}
	if _, ok := c.requests.byKey[key]; ok {
		return nil, rpc.Errorf(rpc.CodeInvalidRequest, "id %s belongs to a pending request; use each id once", id.Raw())
	}
	if c.requests.abandoned[key] {
		return nil, rpc.Errorf(rpc.CodeInvalidRequest, "id %s belongs to a request that codex has not answered; use each id once", id.Raw())
	}
	if n := len(c.requests.byKey); n >= limit && !c.requests.ids.generated(key) {
		if abandoned = c.abandon(now); abandoned == nil {
			return nil, rpc.Errorf(rpc.CodeOverloaded, "%d requests are pending already; read their answers, and try again", n)
		}
	}
	c.setRequest(key, &pendingRequest{id: id, since: now, handlers: handlers})
	return abandoned, nil
}

// abandon removes and returns the oldest request if it is old enough, else nil. The lock must
// be held.
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

// dropRequest removes and returns a request, or nil.
func (c *conversation) dropRequest(key string) *pendingRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.removeRequest(key)
}

// mayWantResponse reports whether wantsResponse can be true for any response.
func (c *conversation) mayWantResponse() bool {
	return c.requests.count.Load() > 0 || c.requests.ids.used()
}

// wantsResponse reports whether a response must be handled: a handler wants it, or the request
// is one of the bridge. Else the response is forwarded, and the request removed.
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

// restoreRequest restores the request whose response was forwarded but truncated.
func (c *conversation) restoreRequest(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := c.requests.last; last != nil && last.id.Key() == key && c.requests.byKey[key] == nil {
		c.setRequest(key, last)
	}
}

// closeRequests removes and returns all requests. Later ones are refused.
func (c *conversation) closeRequests() (all []*pendingRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.requests.byKey {
		all = append(all, r)
	}
	clear(c.requests.byKey)
	c.requests.closed = true
	c.countRequests()
	return all
}

// expectReply registers the channel for the response to a request of Conn.CallAsClient.
func (c *conversation) expectReply(id rpc.ID, reply chan<- []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests.replies[id.Key()] = reply
}

// deliverReply passes a response to Conn.CallAsClient. It returns false if the response is for
// the client.
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

// forgetReply removes the channel of Conn.CallAsClient.
func (c *conversation) forgetReply(id rpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.requests.replies, id.Key())
}

// idGenerator creates ids for the bridge's own requests to one side. They have a random
// prefix, which only that side sees.
type idGenerator struct {
	prefix string
	n      atomic.Int64
}

func newIDGenerator() *idGenerator { return &idGenerator{prefix: "codex-bridge-" + rand.Text() + "-"} }

func (g *idGenerator) next() rpc.ID {
	return rpc.NewStringID(g.prefix + strconv.FormatInt(g.n.Add(1), 10))
}

// used reports whether any id was created.
func (g *idGenerator) used() bool { return g.n.Load() > 0 }

// generated reports whether the generator created the id with this rpc.ID.Key, or could have.
func (g *idGenerator) generated(key string) bool { return hasPrefix(g, key) }

// generatedRaw is generated for a key in bytes. It does not allocate.
func (g *idGenerator) generatedRaw(key []byte) bool { return hasPrefix(g, key) }

func hasPrefix[K string | []byte](g *idGenerator, key K) bool {
	n := 1 + len(g.prefix)
	return len(key) > n && key[0] == '"' && string(key[1:n]) == g.prefix
}
