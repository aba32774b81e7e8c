package serve

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/methods"
	"codex-bridge/relay/hook"
	"codex-bridge/rpc"
)

// ClientsOptions configure Clients. The functions must be safe for concurrent calls.
type ClientsOptions struct {
	// Parent returns the parent thread of a subagent's thread, or "".
	Parent func(thread string) string
	// AnyMayAnswer reports whether each client of a thread may answer for the person, and not only the
	// one that began the turn.
	AnyMayAnswer bool
	// Decline returns the result that declines a question for the person, or nil if the method has none.
	Decline func(method string, params rpc.Value) []byte
	Log     *slog.Logger
}

// Clients knows which client of one Codex has opened which threads, and which began which turns.
//
// Measured with Codex 0.169: Codex sends a question about a turn to every client that has opened the
// thread, with one id, and accepts the first answer of any connection.
type Clients struct {
	options ClientsOptions

	mu      sync.Mutex
	all     []*Client // in the order in which they came
	threads map[string]*openThread
	turns   map[string]*Client // who began a turn, by its id
	order   []string           // the keys of turns, the oldest first
}

// maxTurns bounds Clients.turns.
const maxTurns = 4096

// openThread is a thread that a client has opened.
type openThread struct {
	clients []*Client // that have opened it, in this order
	pending []*Client // with a request that begins a turn
	leaving []*Client // with a pending thread/unsubscribe
	starter *Client   // who began the latest turn
	tools   *Client   // who started the thread with tools of its own; nil: no client
	shown   []shownQuestion
}

// NewClients returns Clients without a client.
func NewClients(o ClientsOptions) *Clients {
	return &Clients{options: o, threads: make(map[string]*openThread), turns: make(map[string]*Client)}
}

// ClientOptions describe one client. The functions must be safe for concurrent calls.
type ClientOptions struct {
	Name func() string // for the log
	Settings
	// IsOwnTool reports whether the client itself runs the tool that Codex calls.
	IsOwnTool func(params rpc.Value) bool
	// Decide answers a hook of a turn. attended is false if the client that began the turn has gone, so
	// that no person can be asked.
	Decide func(ctx context.Context, call *hook.Call, attended bool) hook.Answer
}

// Client is one client of Codex. As a bridge.Feature it must be the first one: it keeps questions from
// the later features that another client answers. See Requests for the requests of the client.
type Client struct {
	ClientOptions
	clients *Clients
	conn    *bridge.Conn

	mu      sync.Mutex
	opening map[string]chan struct{} // by thread, closed after the response to the request that opens it
}

// Attach implements bridge.Attacher.
func (c *Client) Attach(conn *bridge.Conn) { c.conn = conn }

// NewClient returns a client, which gets no hooks before Join.
func (s *Clients) NewClient(o ClientOptions) *Client {
	return &Client{ClientOptions: o, clients: s, opening: make(map[string]chan struct{})}
}

// Join adds the client, whose options work from now on. The caller calls Leave when its connection ends.
func (c *Client) Join() {
	s := c.clients
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(slices.Clip(s.all), c)
}

// departed stands for each client that began a turn and has left. It never has a thread open.
var departed = new(Client)

// Leave removes the client. It returns the threads that no other client has open. A response that was
// handled meanwhile may open a thread afterwards: call Leave again when no more responses are handled.
func (c *Client) Leave() (alone []string) {
	s := c.clients
	s.mu.Lock()
	s.all = without(s.all, c)
	for turn, one := range s.turns {
		if one == c {
			s.turns[turn] = departed // the client is not kept in memory
		}
	}
	var unanswered []shownQuestion
	for id, t := range s.threads {
		t.pending = without(t.pending, c)
		if slices.Contains(t.clients, c) {
			unanswered = append(unanswered, s.closeLocked(c, id, t)...)
			if !t.hasOther(c) {
				alone = append(alone, id)
			}
		}
		if t.starter == c {
			t.starter = departed
		}
		if t.tools == c {
			t.tools = nil
		}
	}
	s.mu.Unlock()
	s.declineAll(unanswered)
	return alone
}

// without returns a copy of the list without a client.
func without(list []*Client, c *Client) []*Client {
	return slices.DeleteFunc(slices.Clone(list), func(one *Client) bool { return one == c })
}

// closeLocked records that a client gets no more notifications of a thread. It returns the questions that
// only this client could answer.
func (s *Clients) closeLocked(c *Client, id string, t *openThread) (unanswered []shownQuestion) {
	t.clients, t.leaving = without(t.clients, c), without(t.leaving, c)
	if len(t.clients) == 0 {
		delete(s.threads, id)
	}
	t.shown = slices.DeleteFunc(t.shown, func(q shownQuestion) bool {
		if q.starter == c {
			unanswered = append(unanswered, q)
		}
		return q.starter == c
	})
	return unanswered
}

// shownQuestion is a question that a client is shown, and another one has to answer.
type shownQuestion struct {
	starter *Client // who has to answer
	decline func()  // for the client that is shown the question
}

// maxShown bounds openThread.shown. Few questions of a thread are pending at once.
const maxShown = 256

// declineAll declines questions that no client can answer any more. One that has its answer stays.
func (s *Clients) declineAll(questions []shownQuestion) {
	for _, q := range questions {
		q.decline()
	}
}

// IsShared reports whether another client has opened the thread, too, and is not about to unsubscribe
// from it.
func (c *Client) IsShared(thread string) bool {
	c.clients.mu.Lock()
	defer c.clients.mu.Unlock()
	t := c.clients.threads[thread]
	return t != nil && t.hasOther(c)
}

// hasOther reports whether another client than c has opened the thread, and stays.
func (t *openThread) hasOther(c *Client) bool {
	return slices.ContainsFunc(t.clients, func(one *Client) bool { return one != c && !slices.Contains(t.leaving, one) })
}

// Count returns the number of clients.
func (s *Clients) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// Routes implements bridge.Feature.
func (c *Client) Routes() []bridge.Route {
	const why = "the client that began a turn answers its questions"
	routes := []bridge.Route{
		{From: bridge.Codex, Method: "turn/started", Why: why, HandleServer: c.turnStarted, Required: notRequired},
		{From: bridge.Codex, Method: bridge.Other, Why: why, HandleServer: c.question},
	}
	for _, method := range methods.UnloadNotifications {
		routes = append(routes, bridge.Route{From: bridge.Codex, Method: method, Why: why, HandleServer: c.threadClosed, Required: notRequired})
	}
	for _, row := range methods.Rows() {
		if row.Side == methods.ServerRequest {
			routes = append(routes, bridge.Route{From: bridge.Codex, Method: row.Method, Why: why, HandleServer: c.question})
		}
	}
	return routes
}

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
	for _, row := range methods.Rows() {
		if row.Side == methods.ClientRequest && row.Verdict == methods.Gate {
			routes = append(routes, bridge.Route{From: bridge.Client, Method: row.Method, Why: why, HandleClient: r.c.useThread})
		}
	}
	return routes
}

func notRequired() bool { return false }

// open records the thread that a request opens, after Codex has opened it.
func (c *Client) open(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
	if call.Kind != rpc.Request {
		return nil
	}
	m, err := rpc.ParseMessage(call.Line) // earlier features may have rewritten it
	if err != nil {
		return rpc.Errorf(rpc.CodeInternal, "the rewritten %s can't be parsed: %v", call.Method, err)
	}
	if line := c.Settings.addTo(m); line != nil {
		if m, err = rpc.ParseMessage(line); err != nil {
			return rpc.Errorf(rpc.CodeInternal, "%s with the settings of the client: %v", call.Method, err)
		}
		call.Message, call.Line = m, line
	}
	named, _ := call.Params.Get("threadId").Text() // of a resume
	done := c.beginOpening(named)
	tools := call.Method == "thread/start" && call.Params.Get("dynamicTools").Kind() == rpc.Array
	call.OnResponse(func(a *bridge.ServerResponse) {
		if id, ok := a.Result().Get("thread").Get("id").Text(); ok {
			c.opened(id, tools)
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

// addTo returns a request that opens a thread with the settings of the client, or nil if it has them. What
// the request itself says counts: its cwd, and each table of its config.
func (s Settings) addTo(m *rpc.Message) []byte {
	if m.Params.Kind() != rpc.Object {
		return nil
	}
	patch := rpc.NewPatch(m)
	isMissing := func(v rpc.Value) bool { return v.Kind() == rpc.Absent || v.Kind() == rpc.Null }
	if m.Method == "thread/start" && s.Folder != "" && isMissing(m.Params.Get("cwd")) {
		patch.Set(m.Params, "cwd", encode(s.Folder))
	}
	overlay := m.Params.Get("config")
	if len(s.Config) > 0 && (overlay.Kind() == rpc.Object || isMissing(overlay)) {
		all := make(map[string]json.RawMessage)
		tables, added := make(map[string]bool), false
		for key, value := range overlay.Members() {
			table, _, _ := strings.Cut(key, ".")
			all[key], tables[table] = value.Raw(), true
		}
		for key, value := range s.Config {
			if table, _, _ := strings.Cut(key, "."); !tables[table] { // Codex takes one of two forms of a table at random
				all[key], added = value, true
			}
		}
		if added {
			patch.Set(m.Params, "config", encode(all))
		}
	}
	if !patch.Changed() {
		return nil
	}
	return patch.Bytes()
}

// encode returns a value as JSON.
func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts, and values that are JSON
	}
	return raw
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
	c.closed(id)
}

func (c *Client) closed(id string) {
	s := c.clients
	s.mu.Lock()
	var unanswered []shownQuestion
	if t := s.threads[id]; t != nil {
		unanswered = s.closeLocked(c, id, t)
	}
	s.mu.Unlock()
	s.declineAll(unanswered)
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
	s := c.clients
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.threads[id]
	if t == nil || !slices.Contains(t.clients, c) {
		return rpc.Errorf(rpc.CodeNotVerified, "%s: this client has not opened the thread; send thread/resume before", call.Method)
	}
	if call.Kind != rpc.Request || !slices.Contains(beginTurns, call.Method) {
		return nil
	}
	t.pending = append(slices.Clip(t.pending), c)
	call.OnResponse(func(a *bridge.ServerResponse) { c.began(id, t, a) })
	return nil
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

// maxParents bounds the levels of subagents.
const maxParents = 8

// find returns the open thread of a message: that of a subagent's parent if no client has opened the
// subagent's own; nil if there is none.
func (s *Clients) find(id string) *openThread {
	for range maxParents {
		s.mu.Lock()
		t := s.threads[id]
		s.mu.Unlock()
		if t != nil {
			return t
		}
		if id = s.options.Parent(id); id == "" {
			break
		}
	}
	return nil
}

// starter returns who began a turn, if that client still has the thread open, and the clients that have.
// held is the thread that the starter has open: id, or a parent of it. It is nil if no client has opened one.
func (s *Clients) starter(id, turn string) (held *openThread, starter *Client, clients []*Client) {
	t := s.find(id)
	if t == nil {
		return nil, nil, nil
	}
	s.mu.Lock()
	if starter = s.turns[turn]; starter == nil {
		starter = t.beginner()
	}
	clients = t.clients
	s.mu.Unlock()
	if slices.Contains(clients, starter) {
		return t, starter, clients
	}
	// Codex asks the clients of the parent, too, if another client has opened a subagent's thread (measured
	// with Codex 0.169).
	for range maxParents {
		if id = s.options.Parent(id); id == "" {
			break
		}
		s.mu.Lock()
		parent := s.threads[id]
		has := parent != nil && slices.Contains(parent.clients, starter)
		s.mu.Unlock()
		if has {
			return parent, starter, clients
		}
	}
	return t, nil, clients
}

// forPerson are the requests of Codex that a person answers.
var forPerson = []string{
	"item/commandExecution/requestApproval", "item/fileChange/requestApproval", "item/permissions/requestApproval",
	"execCommandApproval", "applyPatchApproval", "mcpServer/elicitation/request", "item/tool/requestUserInput",
}

const toolCall = "item/tool/call"

// part is the role of a client in a request of Codex that each client of a thread gets.
type part uint8

const (
	answers  part = iota // its person, or its bridge
	watches              // the person sees the question, and owner answers
	ignores              // owner answers
	declines             // its bridge: the client that began the turn has gone. Codex takes the first answer
)

// question lets one client answer a request of Codex.
func (c *Client) question(_ context.Context, msg *bridge.ServerMessage) {
	if !msg.ID.IsValid() {
		return
	}
	params := msg.Root().Get("params")
	thread := threadOf(params)
	switch plays, t, owner := c.part(msg.Method, params); plays {
	case ignores:
		c.skip(msg, t, owner, thread)
	case watches:
		c.show(msg, t, owner, thread)
	case declines:
		c.warn("a question is declined, since the client that began the turn has gone", msg.Method, thread)
		if no := c.clients.options.Decline(msg.Method, params); no != nil {
			msg.Reply(no)
		} else {
			msg.Refuse(rpc.Errorf(rpc.CodeRefused, "the client that began the turn has gone"))
		}
	}
}

// part returns the client's part in a request, the thread, and the client that answers.
func (c *Client) part(method string, params rpc.Value) (plays part, t *openThread, owner *Client) {
	thread := threadOf(params)
	if thread == "" {
		return answers, nil, nil
	}
	turn, _ := params.Get("turnId").Text()
	var clients []*Client
	if t, owner, clients = c.clients.starter(thread, turn); t != nil && method == toolCall {
		if own := c.clients.toolsOf(t); own != nil && own.IsOwnTool(params) {
			owner = own
		}
	}
	forUser := slices.Contains(forPerson, method)
	if owner == nil && !forUser && len(clients) > 0 {
		owner = clients[0]
	}
	switch {
	case owner == c, owner == nil && !forUser:
		return answers, t, owner
	case !forUser:
		return ignores, t, owner
	case c.clients.options.AnyMayAnswer && slices.Contains(clients, c):
		return answers, t, owner
	case owner == nil:
		return declines, t, owner
	}
	return watches, t, owner
}

// threadOf returns the id of the thread in params, "" if there is none.
func threadOf(params rpc.Value) string {
	thread, ok := params.Get("threadId").Text()
	if !ok {
		thread, _ = params.Get("conversationId").Text() // legacy approvals
	}
	return thread
}

// toolsOf returns the client that has started the thread with tools of its own and still has it open, or nil.
func (s *Clients) toolsOf(t *openThread) *Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(t.clients, t.tools) {
		return nil
	}
	return t.tools
}

// show sends the client a question that starter has to answer.
func (c *Client) show(msg *bridge.ServerMessage, t *openThread, starter *Client, thread string) {
	method := msg.Method
	request := msg.Show(func() {
		c.warn("an answer is ignored, since only the client that began the turn may answer; see serve.answer", method, thread)
	})
	if no := c.clients.options.Decline(method, msg.Root().Get("params")); no != nil {
		c.clients.declineWithout(starter, t, func() {
			if request.Reply(no) {
				c.warn("a question is declined, since the client that began the turn has gone", method, thread)
			}
		})
	}
}

// noToolResult is the result of a tool whose client has gone. Without one the turn would wait for ever.
var noToolResult = []byte(`{"contentItems":[{"type":"inputText","text":"The client that runs this tool has gone."}],"success":false}`)

// skip keeps a request from this client, since owner answers it.
func (c *Client) skip(msg *bridge.ServerMessage, t *openThread, owner *Client, thread string) {
	method, request := msg.Method, msg.Skip()
	if method == toolCall {
		c.clients.declineWithout(owner, t, func() {
			if request.Reply(noToolResult) { // Codex ignores it if owner has answered
				c.clients.options.Log.Debug("a tool is answered, since its client has gone", "thread", thread, "client", c.Name())
			}
		})
	}
}

// declineWithout calls decline when owner has no longer opened the thread, which may be the case already.
func (s *Clients) declineWithout(owner *Client, t *openThread, decline func()) {
	s.mu.Lock()
	gone := !slices.Contains(t.clients, owner)
	if !gone {
		t.shown = append(t.shown, shownQuestion{owner, decline})
		if len(t.shown) > maxShown {
			t.shown = slices.Delete(t.shown, 0, 1)
		}
	}
	s.mu.Unlock()
	if gone {
		decline()
	}
}

func (c *Client) warn(text, method, thread string) {
	c.clients.options.Log.Warn(text, "method", method, "thread", thread, "client", c.Name())
}

// IsStarter reports whether the client began the turn that a request of Codex is about. If that client has
// gone, the first other one counts.
func (c *Client) IsStarter(params rpc.Value) bool {
	thread, _ := params.Get("threadId").Text()
	turn, _ := params.Get("turnId").Text()
	t, starter, clients := c.clients.starter(thread, turn)
	return t == nil || starter == c || starter == nil && len(clients) > 0 && clients[0] == c
}

// Decide answers a hook by the client that began the turn. If that has gone, another client's bridge
// answers, without a question.
func (s *Clients) Decide(ctx context.Context, call *hook.Call) hook.Answer {
	if _, starter, _ := s.starter(call.Thread(), call.TurnID); starter != nil {
		return starter.ClientOptions.Decide(ctx, call, true)
	}
	s.mu.Lock()
	all := s.all
	s.mu.Unlock()
	if len(all) == 0 {
		return hook.Answer{Decision: hook.Deny, Reason: "No client is connected to codex-bridge, so nobody is responsible for this call."}
	}
	return all[0].ClientOptions.Decide(ctx, call, false)
}

// Last returns the feature that comes after all others. It stops each response without a request:
// Codex accepts an answer to any of its requests from every connection.
func (c *Client) Last() bridge.Feature { return unsolicited{} }

type unsolicited struct{}

// Routes implements bridge.Feature.
func (unsolicited) Routes() []bridge.Route {
	return []bridge.Route{{
		From: bridge.Client, Method: bridge.Unsolicited, Why: "Codex would take it for the answer of another client",
		HandleClient: func(context.Context, *bridge.ClientMessage) *rpc.Error {
			return rpc.Errorf(rpc.CodeInvalidRequest, "codex has sent this client no request with this id, or it has its response")
		},
	}}
}
