package bridge

import (
	"time"

	"codex-bridge/rpc"
)

// serverRequest is a question to the client: of Codex, or of the bridge's own.
type pendingServerRequest struct {
	id       rpc.ID
	answered bool                    // nothing more is to become of it
	withheld bool                    // the client does not get it
	handlers []func(*ClientResponse) // Said.OnReply; fixed once it is registered
	response chan<- *rpc.Message     // for Peer.AskClient: the answer goes here, and no further
	timer    *time.Timer             // nil: it waits for ever
}

// pendingServerRequests are the questions that have no answer yet, by rpc.ID.Key: those
// the client has got, and those that are withheld from it. A client answers once: what
// comes under the same id again is an answer to nothing, and so is an answer to what is
// not registered. The conversation's mutex guards it but for ids.
type pendingServerRequests struct {
	ids    *idGenerator // of the bridge's own questions, whose answers are for nobody else
	byKey  map[string]*pendingServerRequest
	closed bool
}

func newPendingServerRequests() pendingServerRequests {
	return pendingServerRequests{ids: newIDGenerator(), byKey: make(map[string]*pendingServerRequest)}
}

// ask registers a question of the bridge's own and has it written; false: too much waits
// for the client already.
func (c *conversation) registerOwn(id rpc.ID, response chan<- *rpc.Message, line []byte) (*outgoingLine, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.toClient.isFull(len(line)) {
		return nil, false
	}
	c.serverRequests.byKey[id.Key()] = &pendingServerRequest{id: id, response: response}
	return c.toClient.enqueueLocked(line), true
}

// register makes a question of Codex known, with all its handlers and its deadline in one
// step. It is called once all routes have seen the question, and before the client gets
// it: until then an answer of the client is one to nothing. A question that was answered
// by then is not registered.
func (p *Proxy) register(said *ServerMessage) {
	c := p.state
	c.mu.Lock()
	defer c.mu.Unlock()
	r := said.request
	if r == nil {
		r = &pendingServerRequest{id: said.ID.Clone()}
	}
	if r.answered {
		return
	}
	if said.reply != nil {
		r.answered = true
		p.replyToCodexLocked(said.reply)
		return
	}
	if said.Line == nil && said.request == nil {
		return // a feature keeps it to itself
	}
	r.withheld, r.handlers = said.Line == nil, said.onResponse
	key := r.id.Key()
	if before := c.serverRequests.byKey[key]; before != nil {
		c.removeServerRequest(key, before) // Codex asks something else under this id
	}
	c.serverRequests.byKey[key] = r
	if said.fallback == nil {
		return
	}
	method, after, instead := said.Method, said.timeout, said.fallback
	r.timer = time.AfterFunc(after, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if r.answered || c.serverRequests.closed {
			return
		}
		c.removeServerRequest(key, r)
		c.fallbacks.startLocked(func() { // instead may write to a disk
			p.opts.Log.Warn("no answer came in time", "method", method, "after", after)
			p.replyToCodex(instead(r.id))
		})
	})
}

// answerQuestion has a feature answer r. false: it needs no answer any more.
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
	r.answered = true // perhaps before it is registered
	p.replyToCodexLocked(rpc.EncodeResult(r.id, result))
	return true
}

// takeAnswered removes the question that the client has answered.
func (c *conversation) removeAnswered(key string) (*pendingServerRequest, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.serverRequests.byKey[key]
	if !ok || r.withheld {
		return nil, false
	}
	c.removeServerRequest(key, r)
	return r, true
}

// dropQuestion is for a question that needs no answer any more.
func (c *conversation) dropServerRequest(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.serverRequests.byKey[key]; ok {
		c.removeServerRequest(key, r)
	}
}

// removeQuestion is called with the lock held.
func (c *conversation) removeServerRequest(key string, r *pendingServerRequest) {
	delete(c.serverRequests.byKey, key)
	r.answered = true
	if r.timer != nil {
		r.timer.Stop()
	}
}

// endQuestions stops all deadlines: Codex has ended.
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

// Held is a request of Codex that a feature may answer: one that the client does not get,
// or that is answered by whoever is first. It may be used by several goroutines, and as
// soon as Hold or Either has returned it.
type ServerRequest struct {
	p       *Proxy
	pending *pendingServerRequest
}

// Reply answers Codex. It is false when Codex waits for no answer any more: it has settled
// the request itself, or there was one; one of the client's, too.
func (h *ServerRequest) Reply(result []byte) bool { return h.p.answerServerRequest(h.pending, result) }
