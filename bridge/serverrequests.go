package bridge

import (
	"time"

	"codex-bridge.example/rpc"
)

// pendingServerRequest is a request to the client, of Codex or of the bridge.
type pendingServerRequest struct {
	id       rpc.ID
	size     int                     // of the message in memory
	answered bool                    // answered, resolved or removed
	withheld bool                    // not sent to the client
	ignored  func()                  // called with the client's response, which Codex does not get; nil: Codex gets it
	handlers []func(*ClientResponse) // ServerMessage.OnResponse; not changed after registration
	response chan<- clientResponse   // for Conn.CallClient, which alone gets the response
	timer    *time.Timer             // nil: no timeout
}

// clientResponse is the response to a request of the bridge.
type clientResponse struct {
	*rpc.Message
	unreadable *rpc.Error // see ClientResponse.Unreadable
}

// pendingServerRequests are the requests to the client without a response, by rpc.ID.Key,
// including withheld ones. A request has one response; a second one is unsolicited, and so is
// a response to a request that is not registered. The conversation's mutex guards all fields
// except ids.
type pendingServerRequests struct {
	ids      *idGenerator // for requests of the bridge
	byKey    map[string]*pendingServerRequest
	bytes    int  // their size in memory
	refusing bool // the last one was too many, and there is not yet much room again
	closed   bool
}

// Limits for the requests to the client that have no response. Codex has a few at once: one for each call
// that waits for a person or a tool of the client. But an MCP server may ask without end, and Codex sets no
// time for its questions.
const (
	maxServerRequests     = 4096
	maxServerRequestBytes = 16 << 20
)

// isFull reports whether another request would be too many. The lock must be held.
func (s *pendingServerRequests) isFull() bool {
	return len(s.byKey) >= maxServerRequests || s.bytes >= maxServerRequestBytes
}

// refuseExcess reports whether a request of Codex is too many, and whether it is the first such one since
// there was room for half of the maximum.
func (c *conversation) refuseExcess() (refused, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.serverRequests
	if s.isFull() {
		first, s.refusing = !s.refusing, true
		return true, first
	}
	if len(s.byKey) < maxServerRequests/2 && s.bytes < maxServerRequestBytes/2 {
		s.refusing = false
	}
	return false, false
}

// setServerRequest adds a request. The lock must be held.
func (c *conversation) setServerRequest(key string, r *pendingServerRequest) {
	c.serverRequests.byKey[key] = r
	c.serverRequests.bytes += r.size
}

func newPendingServerRequests() pendingServerRequests {
	return pendingServerRequests{ids: newIDGenerator(), byKey: make(map[string]*pendingServerRequest)}
}

// registerOwn registers a request of the bridge and queues it. It returns false if the queue to
// the client is full, or too many requests have no response.
func (c *conversation) registerOwn(id rpc.ID, response chan<- clientResponse, line []byte) (*outgoingLine, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.toClient.isFull(len(line)) || c.serverRequests.isFull() {
		return nil, false
	}
	c.setServerRequest(id.Key(), &pendingServerRequest{id: id, size: len(line), response: response})
	return c.toClient.enqueueLocked(line), true
}

// register adds a request of Codex with its handlers and timeout in one step. It is called
// after all routes and before the client gets the request: a response before that is
// unsolicited. A request that already has an answer is not added.
func (p *Proxy) register(msg *ServerMessage) {
	c := p.state
	c.mu.Lock()
	defer c.mu.Unlock()
	r := msg.request
	if r == nil {
		r = &pendingServerRequest{id: msg.ID.Clone()}
	}
	if r.answered {
		return
	}
	if msg.reply != nil {
		r.answered = true
		p.replyToCodexLocked(msg.reply)
		return
	}
	if msg.Line == nil && msg.request == nil {
		return // a handler keeps it from the client
	}
	r.withheld, r.ignored, r.handlers = msg.Line == nil, msg.ignored, msg.onResponse
	key := r.id.Key()
	if before := c.serverRequests.byKey[key]; before != nil {
		c.removeServerRequest(key, before) // Codex reuses the id
	}
	r.size = msg.Size()
	c.setServerRequest(key, r)
	if msg.fallback == nil {
		return
	}
	method, after, fallback := msg.Method, msg.timeout, msg.fallback
	r.timer = time.AfterFunc(after, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if r.answered || c.serverRequests.closed {
			return
		}
		c.removeServerRequest(key, r)
		c.fallbacks.startLocked(0, func() { // fallback may write to a disk
			p.opts.Log.Warn("the client did not answer in time", "method", method, "after", after)
			p.replyToCodex(fallback(r.id))
		})
	})
}

// answerServerRequest answers r for a feature. It returns false if r has an answer.
func (p *Proxy) answerServerRequest(r *pendingServerRequest, result []byte) bool {
	c := p.state
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.answered || c.serverRequests.closed {
		return false
	}
	if key := r.id.Key(); c.serverRequests.byKey[key] == r {
		c.removeServerRequest(key, r)
	}
	r.answered = true // may be before register
	p.replyToCodexLocked(rpc.EncodeResult(r.id, result))
	return true
}

// removeAnswered removes and returns the request that the client has answered. A request stays if its
// response is ignored: Codex still waits, and the feature may have to answer.
func (c *conversation) removeAnswered(key string) (*pendingServerRequest, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.serverRequests.byKey[key]
	if !ok || r.withheld {
		return nil, false
	}
	if r.ignored == nil {
		c.removeServerRequest(key, r)
	}
	return r, true
}

// dropServerRequest removes a request that needs no answer any more, and reports whether the client has it.
func (c *conversation) dropServerRequest(key string) (shown bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.serverRequests.byKey[key]
	if ok {
		c.removeServerRequest(key, r)
	}
	return ok && !r.withheld
}

// removeServerRequest removes a request and stops its timer. The lock must be held.
func (c *conversation) removeServerRequest(key string, r *pendingServerRequest) {
	delete(c.serverRequests.byKey, key)
	c.serverRequests.bytes -= r.size
	r.answered = true
	if r.timer != nil {
		r.timer.Stop()
	}
}

// stopTimeouts stops all timeouts after Codex has exited.
func (c *conversation) stopTimeouts() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serverRequests.closed = true
	for _, r := range c.serverRequests.byKey {
		if r.timer != nil {
			r.timer.Stop()
		}
	}
}

// ServerRequest is a request of Codex that a feature may answer, alone or in competition with
// the client. It may be used concurrently, from the return of Withhold or Share on.
type ServerRequest struct {
	p       *Proxy
	pending *pendingServerRequest
}

// Reply answers Codex. It returns false if Codex has resolved the request, or it already has an
// answer.
func (h *ServerRequest) Reply(result []byte) bool { return h.p.answerServerRequest(h.pending, result) }
