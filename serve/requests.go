package serve

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// Requests returns the feature that handles the requests of the client. It comes after the features that
// send requests in the client's name, for example for sessions, and before the policy.
func (c *Client) Requests() bridge.Feature { return clientRequests{c} }

type clientRequests struct{ c *Client }

// Routes implements bridge.Feature.
func (r clientRequests) Routes() []bridge.Route {
	const why = "a client uses the threads that it has opened"
	routes := []bridge.Route{{From: bridge.Client, Method: "thread/unsubscribe", Why: why, HandleClient: r.c.unsubscribe}}
	for _, method := range []string{"thread/start", "thread/resume", "thread/fork"} {
		routes = append(routes, bridge.Route{From: bridge.Client, Method: method, Why: why, HandleClient: r.c.open})
	}
	for row := range methods.Rows() {
		if row.Side == methods.ClientRequest && row.Verdict == methods.Gate {
			routes = append(routes, bridge.Route{From: bridge.Client, Method: row.Method, Why: why, HandleClient: r.c.useThread})
		}
	}
	return routes
}

// Stage implements bridge.Feature.
func (clientRequests) Stage() bridge.Stage { return bridge.BeforeGuard }

// open records the thread that a request opens, after Codex has opened it.
func (c *Client) open(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
	if call.Kind != rpc.Request {
		return nil
	}
	m, err := rpc.ParseMessage(call.Line) // earlier features may have rewritten it
	if err != nil {
		return rpc.Errorf(rpc.CodeInternal, "the rewritten %s can't be parsed: %v", call.Method, err)
	}
	line, refused := c.Settings.addTo(m, c.Replaced)
	if refused != nil {
		return c.Refuse(ctx, call, rpc.CodeRefused, *refused)
	}
	if line != nil {
		if m, err = rpc.ParseMessage(line); err != nil {
			return rpc.Errorf(rpc.CodeInternal, "%s with the settings of the client: %v", call.Method, err)
		}
		_, named := call.Params.Get("cwd").Text()
		call.FolderAdded = call.FolderAdded || call.Method == "thread/start" && !named
		call.Message, call.Line = m, line
	}
	named, _ := call.Params.Get("threadId").Text() // of a resume
	done := c.beginOpening(named)
	tools := call.Method == "thread/start" && call.Params.Get("dynamicTools").Kind() == rpc.Array
	call.OnResponse(func(a *bridge.ServerResponse) {
		if id, ok := a.Result().Get("thread").Get("id").Text(); ok {
			c.opened(id, tools)
			a.AfterSent(c.clients.askAgain)
		}
		done()
	})
	return nil
}

// beginOpening registers a request that opens a thread. The caller calls done after the response.
func (c *Client) beginOpening(id string) (done func()) {
	wait := make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opening[id] = wait
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.opening[id] == wait {
			delete(c.opening, id)
		}
		close(wait)
	}
}

// openingTimeout is how long a request waits for Codex to open its thread.
const openingTimeout = 30 * time.Second

// awaitOpening waits for the response to a request that opens the thread, if one is pending.
func (c *Client) awaitOpening(ctx context.Context, id string) {
	c.mu.Lock()
	wait := c.opening[id]
	c.mu.Unlock()
	if wait == nil {
		return
	}
	timer := time.NewTimer(openingTimeout)
	defer timer.Stop()
	select {
	case <-wait:
	case <-timer.C:
	case <-c.conn.CodexDone():
	case <-ctx.Done():
	}
}

func (c *Client) opened(id string, tools bool) {
	s := c.clients
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.threads[id]
	if t == nil {
		t = new(openThread)
		s.threads[id] = t
	}
	if !slices.Contains(t.clients, c) {
		t.clients = append(slices.Clip(t.clients), c)
	}
	if t.starter == nil {
		t.starter = c
	}
	if tools {
		t.tools = c
	}
}

func (c *Client) unsubscribe(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
	id, _ := call.Params.Get("threadId").Text()
	if call.Kind != rpc.Request {
		return nil
	}
	s := c.clients
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.threads[id]
	if t == nil || !slices.Contains(t.clients, c) {
		return nil
	}
	t.leaving = append(slices.Clip(t.leaving), c)
	call.OnResponse(func(a *bridge.ServerResponse) {
		if a.Outcome() != bridge.Failed {
			c.closed(id)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		t.leaving = without(t.leaving, c)
	})
	return nil
}

// threadClosed handles the notification that Codex has unloaded a thread, which every client gets.
func (c *Client) threadClosed(_ context.Context, msg *bridge.ServerMessage) {
	id, _ := msg.Root().Get("params").Get("threadId").Text()
	c.clients.forget(func(_ string, q *pendingQuestion) bool { return threadOf(q.asked.Root().Get("params")) == id })
	c.closed(id)
}

func (c *Client) closed(id string) {
	s := c.clients
	s.mu.Lock()
	if t := s.threads[id]; t != nil {
		s.closeLocked(c, id, t)
	}
	open := maps.Clone(s.pending)
	s.mu.Unlock()
	for key, q := range open {
		if s.has(c, threadOf(q.asked.Root().Get("params"))) {
			continue
		}
		s.mu.Lock()
		if s.pending[key] == q {
			s.leaveLocked(c, key, q)
		}
		s.mu.Unlock()
		if c.conn.ForgetServerRequest(q.asked.ID) { // Codex does not tell a client that has left the thread
			c.endEarly(key)
			c.conn.Notify("serverRequest/resolved", map[string]any{
				"threadId": threadOf(q.asked.Root().Get("params")), "requestId": json.RawMessage(q.asked.ID.Raw()),
			})
		}
	}
	s.askAgain()
}

// beginTurns are the requests after which Codex begins a turn. Others may stay pending while the model
// works, and the turn that another client begins meanwhile is not theirs.
var beginTurns = []string{
	"turn/start", "review/start", "thread/compact/start", "thread/goal/set", "thread/queue/add", "thread/queue/start",
	"thread/realtime/start", "thread/realtime/appendAudio", "thread/realtime/appendText",
}

// useThread refuses a request about a thread that the client has not opened. Codex would do it, but
// would send what follows, and its questions, to other clients.
func (c *Client) useThread(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
	id, _ := call.Params.Get("threadId").Text()
	c.awaitOpening(ctx, id)
	if !c.begin(id, call) {
		return c.Refuse(ctx, call, rpc.CodeNotVerified, policy.Refusal{
			Rule: "serve.mode", Field: "threadId", Reason: "this client has not opened the thread", Hint: "send thread/resume before",
		})
	}
	return nil
}

// begin reports whether the client may use a thread, and records a request that begins a turn in it.
func (c *Client) begin(id string, call *bridge.ClientMessage) bool {
	s := c.clients
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.threads[id]
	if t == nil || !slices.Contains(t.clients, c) {
		// As codex queue does. The turn is that of the client that began the latest one.
		return t != nil && strings.HasPrefix(call.Method, "thread/queue/")
	}
	if call.Kind == rpc.Request && slices.Contains(beginTurns, call.Method) {
		t.pending = append(slices.Clip(t.pending), c)
		call.OnResponse(func(a *bridge.ServerResponse) { c.began(id, t, a) })
	}
	return true
}

// began records who began a turn, after the response to the request.
func (c *Client) began(id string, t *openThread, a *bridge.ServerResponse) {
	s := c.clients
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(t.pending, c); i >= 0 {
		t.pending = slices.Delete(slices.Clone(t.pending), i, i+1)
	}
	if a.Outcome() == bridge.Failed {
		return
	}
	if turn, ok := a.Result().Get("turn").Get("id").Text(); ok {
		s.beginLocked(turn, c, t)
	} else {
		t.starter = c // a turn may follow
	}
	if review, ok := a.Result().Get("reviewThreadId").Text(); ok && review != id && s.threads[review] == nil {
		s.threads[review] = &openThread{clients: []*Client{c}, starter: c}
	}
}

// beginLocked records who began a turn, unless it is known: Codex adds the input of a later turn/start
// to a running turn.
func (s *Clients) beginLocked(turn string, c *Client, t *openThread) {
	if s.turns[turn] != nil || c == nil {
		return
	}
	t.starter = c
	s.addTurnLocked(turn, c)
}

func (s *Clients) addTurnLocked(turn string, c *Client) {
	if s.turns[turn] != nil {
		return
	}
	s.turns[turn] = c
	if s.order = append(s.order, turn); len(s.order) > maxTurns {
		delete(s.turns, s.order[0])
		s.order = s.order[1:]
	}
}

func (c *Client) turnStarted(_ context.Context, msg *bridge.ServerMessage) {
	params := msg.Root().Get("params")
	id, _ := params.Get("threadId").Text()
	turn, _ := params.Get("turn").Get("id").Text()
	s := c.clients
	s.mu.Lock()
	defer s.mu.Unlock()
	// Measured with Codex 0.169: rootTurnId of a subagent's turn is the turn that started the subagent.
	root, _ := params.Get("turn").Get("rootTurnId").Text()
	if owner := s.turns[root]; owner != nil && root != turn && turn != "" {
		s.addTurnLocked(turn, owner)
	} else if t := s.threads[id]; t != nil && turn != "" {
		s.beginLocked(turn, t.beginner(), t)
	}
}

// beginner returns who began a turn whose id is not known yet. Codex also begins turns itself, for
// example for a goal.
func (t *openThread) beginner() *Client {
	if len(t.pending) > 0 {
		return t.pending[0]
	}
	return t.starter
}

// turnCompleted handles the end of a turn, after which Codex waits for none of its questions. An interrupt
// ends a tool call without serverRequest/resolved (measured with Codex 0.169).
func (c *Client) turnCompleted(_ context.Context, msg *bridge.ServerMessage) {
	turn, ok := msg.Root().Get("params").Get("turn").Get("id").Text()
	c.clients.forget(func(_ string, q *pendingQuestion) bool {
		return ok && q.asked.Root().Get("params").Get("turnId").Is(turn)
	})
}

// endEarly records that the bridge sends the client the end of a question before Codex does.
func (c *Client) endEarly(key string) {
	s := c.clients
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(c.ended, func(key string, _ struct{}) bool { return s.pending[key] == nil })
	c.ended[key] = struct{}{}
}

// takeEnd reports whether the bridge has sent the client the end of a question, and forgets it.
func (c *Client) takeEnd(key string) bool {
	c.clients.mu.Lock()
	defer c.clients.mu.Unlock()
	_, ok := c.ended[key]
	delete(c.ended, key)
	return ok
}

// resolved handles the notification that Codex no longer waits for an answer. A client that has left the thread
// meanwhile, and come back, may have got it from the bridge.
func (c *Client) resolved(_ context.Context, msg *bridge.ServerMessage) {
	if id, ok := rpc.ParseID(msg.Root().Get("params").Get("requestId")); ok {
		if c.takeEnd(id.Key()) {
			msg.Line = nil
		}
		c.clients.forget(func(key string, _ *pendingQuestion) bool { return key == id.Key() })
	}
}
