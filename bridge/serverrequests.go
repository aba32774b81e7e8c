package bridge

import (
	"time"

	"codex-bridge/rpc"
)

// serverRequest is a question to the client: of Codex, or of the bridge's own.
type serverRequest struct {
	id       rpc.ID
	answered bool                // nothing more is to become of it
	withheld bool                // the client does not get it
	handlers []func(*Reply)      // Said.OnReply; fixed once it is registered
	response chan<- *rpc.Message // for Peer.AskClient: the answer goes here, and no further
	timer    *time.Timer         // nil: it waits for ever
}

// pendingServerRequests are the questions that have no answer yet, by rpc.ID.Key: those
// the client has got, and those that are withheld from it. A client answers once: what
// comes under the same id again is an answer to nothing, and so is an answer to what is
// not registered. The conversation's mutex guards it but for ids.
type pendingServerRequests struct {
	ids   *ownIDs // of the bridge's own questions, whose answers are for nobody else
	byKey map[string]*serverRequest
	ended bool
}

func newPendingServerRequests() pendingServerRequests {
	return pendingServerRequests{ids: newOwnIDs(), byKey: make(map[string]*serverRequest)}
}

// ask registers a question of the bridge's own and has it written; false: too much waits
// for the client already.
func (c *conversation) ask(id rpc.ID, response chan<- *rpc.Message, line []byte) (*outgoingLine, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.toClient.isFull(len(line)) {
		return nil, false
	}
	c.questions.byKey[id.Key()] = &serverRequest{id: id, response: response}
	return c.toClient.putLocked(line), true
}

// register makes a question of Codex known, with all its handlers and its deadline in one
// step. It is called once all routes have seen the question, and before the client gets
// it: until then an answer of the client is one to nothing. A question that was answered
// by then is not registered.
func (p *Proxy) register(said *Said) {
	c := p.state
	c.mu.Lock()
	defer c.mu.Unlock()
	r := said.question
	if r == nil {
		r = &serverRequest{id: said.ID.Clone()}
	}
	if r.answered {
		return
	}
	if said.reply != nil {
		r.answered = true
		p.replyLocked(said.reply)
		return
	}
	if said.Line == nil && said.question == nil {
		return // a feature keeps it to itself
	}
	r.withheld, r.handlers = said.Line == nil, said.onReply
	key := r.id.Key()
	if before := c.questions.byKey[key]; before != nil {
		c.removeQuestion(key, before) // Codex asks something else under this id
	}
	c.questions.byKey[key] = r
	if said.instead == nil {
		return
	}
	method, after, instead := said.Method, said.within, said.instead
	r.timer = time.AfterFunc(after, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if r.answered || c.questions.ended {
			return
		}
		c.removeQuestion(key, r)
		c.lates.startLocked(func() { // instead may write to a disk
			p.o.Log.Warn("no answer came in time", "method", method, "after", after)
			p.reply(instead(r.id))
		})
	})
}

// answerQuestion has a feature answer r. false: it needs no answer any more.
func (p *Proxy) answerQuestion(r *serverRequest, result []byte) bool {
	c := p.state
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.answered || c.questions.ended {
		return false
	}
	if key := r.id.Key(); c.questions.byKey[key] == r {
		c.removeQuestion(key, r)
	}
	r.answered = true // perhaps before it is registered
	p.replyLocked(rpc.Reply(r.id, result))
	return true
}

// takeAnswered removes the question that the client has answered.
func (c *conversation) takeAnswered(key string) (*serverRequest, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.questions.byKey[key]
	if !ok || r.withheld {
		return nil, false
	}
	c.removeQuestion(key, r)
	return r, true
}

// dropQuestion is for a question that needs no answer any more.
func (c *conversation) dropQuestion(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.questions.byKey[key]; ok {
		c.removeQuestion(key, r)
	}
}

// removeQuestion is called with the lock held.
func (c *conversation) removeQuestion(key string, r *serverRequest) {
	delete(c.questions.byKey, key)
	r.answered = true
	if r.timer != nil {
		r.timer.Stop()
	}
}

// endQuestions stops all deadlines: Codex has ended.
func (c *conversation) endQuestions() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.questions.ended = true
	for _, r := range c.questions.byKey {
		if r.timer != nil {
			r.timer.Stop()
		}
	}
}

// Held is a request of Codex that a feature may answer: one that the client does not get,
// or that is answered by whoever is first. It may be used by several goroutines, and as
// soon as Hold or Either has returned it.
type Held struct {
	p        *Proxy
	question *serverRequest
}

// Reply answers Codex. It is false when Codex waits for no answer any more: it has settled
// the request itself, or there was one; one of the client's, too.
func (h *Held) Reply(result []byte) bool { return h.p.answerQuestion(h.question, result) }
