package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/relay/answer"
	"codex-bridge.example/relay/approvals"
	"codex-bridge.example/relay/handlers"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
	"codex-bridge.example/serve"
)

// modelTimeout is approvals.timeout.
const modelTimeout = time.Minute

// modelWorld is a simulated Codex with editors, and the bridge between them.
type modelWorld struct {
	start   setup
	clients *serve.Clients
	codex   *modelCodex
	calls   handlers.Calls
	limiter *approvals.Limiter
	memory  *approvals.Memory
	running sync.WaitGroup

	mu      sync.Mutex // guards the fields below, and those of the codex and of the editors
	editors []*modelEditor
	hooks   []*modelHook
}

func newModelWorld(_ *testing.T, start setup) *modelWorld {
	w := &modelWorld{start: start, limiter: approvals.NewLimiter()}
	w.codex = &modelCodex{world: w, running: make(map[string]string), began: make(map[string]*modelConn)}
	w.clients = serve.NewClients(serve.ClientsOptions{
		Parent: func(string) string { return "" }, AnyMayAnswer: start.Any, Timeout: func() time.Duration { return modelTimeout },
		Decline: func(asked *rpc.Envelope, _, _ string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.codex.answered(string(asked.ID.Raw()), "decline")
		},
		Log: slog.New(slog.DiscardHandler),
	})
	w.memory = approvals.NewMemory(approvals.MemoryOptions{Approvals: modelApprovals, Store: func(context.Context) (*store.Store, error) {
		return nil, errors.New("there is none")
	}})
	for i := range 4 {
		w.editors = append(w.editors, &modelEditor{world: w, index: i})
	}
	return w
}

func modelApprovals() config.Approvals {
	return config.Approvals{Remember: "off", Timeout: config.Duration(modelTimeout)}
}

// end ends all connections.
func (w *modelWorld) end() {
	for _, c := range w.editors {
		c.kill()
	}
	for _, h := range w.hooks {
		h.cancel()
	}
	w.running.Wait()
	time.Sleep(4 * modelTimeout) // timers of this bubble
}

// hook makes Codex run the hook of a tool call.
func (w *modelWorld) hook(thread string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	turn := w.codex.running[thread]
	if turn == "" {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	h := &modelHook{id: fmt.Sprint("hook ", len(w.hooks)), thread: thread, turn: turn, cancel: cancel}
	w.hooks = append(w.hooks, h)
	input, _ := json.Marshal(map[string]string{"command": h.id})
	call := &hook.Call{Event: hook.PreToolUse, SessionID: thread, TurnID: turn, ToolName: "Bash", ToolUseID: h.id, ToolInput: input, Cwd: "/"}
	w.running.Go(func() {
		answer := w.clients.Decide(ctx, call)
		w.mu.Lock()
		defer w.mu.Unlock()
		h.ended, h.allowed = true, answer.Decision == hook.NoOpinion && ctx.Err() == nil
		w.codex.note("%s ended: %+v", h.id, answer)
	})
}

// connect runs the bridge for an editor.
func (w *modelWorld) connect(c *modelEditor) {
	conn := newModelConn(w.codex)
	in, out := newLinePipe(), newLinePipe()
	w.mu.Lock()
	c.conn, c.in, c.cards, c.order = conn, in, make(map[string]*card), nil
	w.mu.Unlock()
	policy := modelPolicy{name: fmt.Sprint("editor ", c.index), enforces: w.start.Enforce}
	knows, silent := w.start.Knows[c.index], w.start.Silent[c.index]
	hasPerson := func() (bool, string) { return !silent, "nobody answers there" }
	gate := handlers.NewGate(handlers.GateOptions{
		Approvals: modelApprovals, Policy: policy, Memory: w.memory, Limiter: w.limiter, Audience: w.clients, Calls: &w.calls,
		Record: policy, HasPerson: hasPerson, KnowsBridge: func() bool { return knows }, Log: slog.New(slog.DiscardHandler),
	})
	client := w.clients.NewClient(serve.ClientOptions{
		Name: policy.Client, KnowsBridge: func() bool { return knows }, HasPerson: hasPerson, Gate: func() *handlers.Gate { return gate },
		IsOwnTool: func(rpc.Value) bool { return false },
		Decide: func(ctx context.Context, call *hook.Call, attended bool) hook.Answer {
			if !attended {
				return hook.Answer{Decision: hook.Deny}
			}
			return gate.Ask(ctx, call, handlers.GateReason{Text: "rule", Escalated: true})
		},
	})
	questions := approvals.New(approvals.Options{
		Approvals: modelApprovals, Policy: policy, Memory: w.memory, Gate: gate, Sessions: noSessions{}, Expire: client.Expire,
		Record: policy, Limiter: w.limiter, KnowsBridge: func() bool { return knows }, Log: slog.New(slog.DiscardHandler),
	})
	conn.leave = func() { client.Leave() }
	p, err := bridge.NewProxy(bridge.Options{
		In: in, Out: out, Lines: true, Upstream: conn, Features: []bridge.Feature{client, client.Requests(), gate, questions, client.Last()},
		AnswerAll: func() bool { return true }, Grace: time.Second, MaxMessage: 1 << 20, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	client.Join()
	w.running.Go(func() {
		p.Run(context.Background(), nil)
		conn.Kill()
		client.Leave()
		in.Close()
		out.Close()
	})
	w.running.Go(func() { out.eachLine(c.receive) })
	w.running.Go(func() { conn.toCodex.eachLine(conn.receive) })
	c.send(`{"id":"start","method":"initialize","params":{}}`)
}

// modelEditor is an editor. Its cards are those of its latest connection.
type modelEditor struct {
	world *modelWorld
	index int
	conn  *modelConn // nil: not connected
	in    *linePipe
	next  int
	cards map[string]*card
	order []string // the keys of cards
	fault string
}

func (c *modelEditor) fail(format string, args ...any) {
	if c.fault == "" {
		c.fault = fmt.Sprintf(format, args...)
	}
}

func (c *modelEditor) send(line string) { _, _ = io.WriteString(c.in, line+"\n") }

// request sends a request about a thread.
func (c *modelEditor) request(method, thread, turn string) {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	if c.conn == nil {
		return
	}
	c.next++
	c.send(fmt.Sprintf(`{"id":%d,"method":%q,"params":{"threadId":%q,"turnId":%q}}`, c.next, method, thread, turn))
}

// disconnect ends the editor's input.
func (c *modelEditor) disconnect() {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	if c.conn != nil {
		c.in.Close()
		c.conn = nil
	}
}

// kill ends the connections on both sides of the bridge at once.
func (c *modelEditor) kill() {
	c.world.mu.Lock()
	conn := c.conn
	if c.conn = nil; conn != nil {
		c.in.Close()
	}
	c.world.mu.Unlock()
	if conn != nil {
		conn.Kill()
	}
}

// modelPolicy is the policy and the decision log of a client.
type modelPolicy struct {
	name     string
	enforces bool
}

func (p modelPolicy) Mode() config.Mode {
	if p.enforces {
		return config.Enforce
	}
	return config.Off
}
func (modelPolicy) WarnOnce(string, string)                                                {}
func (modelPolicy) RecordNarrowed(context.Context, *rpc.Envelope, []byte, []policy.Change) {}

func (modelPolicy) StaysInSandbox(string, rpc.Value) bool                              { return false }
func (modelPolicy) RunsInSandbox(string, rpc.Value) bool                               { return false }
func (modelPolicy) HasTerminal(rpc.Value) (has, known bool)                            { return false, true }
func (modelPolicy) Workspace(string) string                                            { return "/" }
func (modelPolicy) Sandbox(string, string) string                                      { return "" }
func (modelPolicy) Session(thread string) string                                       { return thread }
func (modelPolicy) Files(rpc.Value) []string                                           { return nil }
func (modelPolicy) AnswerTerms(string, rpc.Value) policy.AnswerTerms                   { return policy.AnswerTerms{} }
func (modelPolicy) RequestFacts(string, rpc.Value, bool) string                        { return "" }
func (p modelPolicy) Client() string                                                   { return p.name }
func (modelPolicy) Consents(rpc.Value, policy.ToolCall) bool                           { return false }
func (modelPolicy) WantsNotification(string) bool                                      { return true }
func (modelPolicy) Append(context.Context, store.Decision) error                       { return nil }
func (modelPolicy) AsksAboutMCP(string, string) bool                                   { return false }
func (modelPolicy) AcceptsCall(context.Context, *rpc.Envelope) bool                    { return false }
func (modelPolicy) RecordChange(context.Context, *rpc.Envelope, []byte, policy.Change) {}
func (modelPolicy) RecordAnswer(context.Context, *rpc.Envelope, policy.Verdict, string, string, string) error {
	return nil
}

type noSessions struct{}

func (noSessions) Apps(context.Context, string) *answer.Apps { return nil }
func (noSessions) Running(string) string                     { return "" }

// modelCodex is a simulated Codex. It behaves as measured with Codex 0.169: a question goes to all subscribed
// connections, and again to one that resumes the thread; the answer of any connection counts.
type modelCodex struct {
	world     *modelWorld
	conns     []*modelConn
	turns     int
	running   map[string]string     // turns by thread
	began     map[string]*modelConn // by turn
	questions []*modelQuestion
	story     []string // for failures
}

type modelQuestion struct {
	id, thread, turn, command    string
	open, delivered, wasAccepted bool
	outcome                      string
	orphaned                     time.Time
}

func (x *modelCodex) note(format string, args ...any) {
	x.story = append(x.story, fmt.Sprintf(format, args...))
}

// ask asks about a command of a thread's turn.
func (x *modelCodex) ask(thread string) {
	x.world.mu.Lock()
	defer x.world.mu.Unlock()
	if x.running[thread] == "" {
		return
	}
	id := fmt.Sprint(len(x.questions))
	q := &modelQuestion{id: id, thread: thread, turn: x.running[thread], command: "command " + id, open: true}
	x.questions = append(x.questions, q)
	for _, conn := range x.conns {
		if conn.threads[thread] {
			x.deliver(conn, q)
		}
	}
}

func (x *modelCodex) deliver(to *modelConn, q *modelQuestion) {
	q.delivered = true
	to.send(`{"id":%s,"method":%q,"params":{"threadId":%q,"turnId":%q,"itemId":%q,"command":%q,"cwd":"/"}}`, q.id, commandApproval, q.thread, q.turn, "item "+q.id, q.command)
}

// answered handles an answer to a question.
func (x *modelCodex) answered(id, outcome string) {
	for _, q := range x.questions {
		if q.id == id && q.open {
			q.open, q.outcome = false, outcome
			x.note("question %s: %s", id, outcome)
			x.tell(q.thread, `{"method":"serverRequest/resolved","params":{"threadId":%q,"requestId":%s}}`, q.thread, q.id)
		}
	}
}

// checkError fails if an error ends a question that another editor could answer.
func (x *modelCodex) checkError(from *modelConn, id, outcome string) {
	for _, q := range x.questions {
		if q.id != id || !q.open || outcome != "error" {
			continue
		}
		for _, c := range x.world.answerable(q.thread, q.turn) {
			if c.conn != from && !x.world.start.Silent[c.index] && c.hasOpen(q.command, false) {
				c.fail("an error of another editor has ended question %s", id)
			}
		}
	}
}

// complete ends the turn of a thread with its questions and hooks.
func (x *modelCodex) complete(thread string) {
	x.world.mu.Lock()
	defer x.world.mu.Unlock()
	x.completeLocked(thread)
}

func (x *modelCodex) completeLocked(thread string) {
	turn := x.running[thread]
	if turn == "" {
		return
	}
	for _, q := range x.questions {
		if q.open && q.turn == turn {
			x.answered(q.id, "interrupted")
		}
	}
	for _, h := range x.world.hooks {
		if h.turn == turn {
			h.cancel()
		}
	}
	delete(x.running, thread)
	x.tell(thread, `{"method":"turn/completed","params":{"threadId":%q,"turn":{"id":%q}}}`, thread, turn)
}

// tell sends a notification to the connections that are subscribed to a thread.
func (x *modelCodex) tell(thread, format string, args ...any) {
	for _, conn := range x.conns {
		if conn.threads[thread] {
			conn.send(format, args...)
		}
	}
}

func (x *modelCodex) lastQuestion() string {
	x.world.mu.Lock()
	defer x.world.mu.Unlock()
	if len(x.questions) == 0 {
		return ""
	}
	return x.questions[len(x.questions)-1].id
}

func (x *modelCodex) isOpen(id string) bool {
	return slices.ContainsFunc(x.questions, func(q *modelQuestion) bool { return q.id == id && q.open })
}

func (x *modelCodex) isSubscribed(conn *modelConn, thread string) bool {
	return slices.Contains(x.conns, conn) && conn.threads[thread]
}

// modelConn is a connection of the bridge to the simulated Codex.
type modelConn struct {
	codex              *modelCodex
	toCodex, fromCodex *linePipe
	threads            map[string]bool // subscribed
	leave              func()
	once               sync.Once
	done               chan struct{}
}

func newModelConn(x *modelCodex) *modelConn {
	conn := &modelConn{codex: x, toCodex: newLinePipe(), fromCodex: newLinePipe(), threads: make(map[string]bool), done: make(chan struct{})}
	x.world.mu.Lock()
	defer x.world.mu.Unlock()
	x.conns = append(x.conns, conn)
	return conn
}

func (c *modelConn) send(format string, args ...any) {
	_, _ = fmt.Fprintf(c.fromCodex, format+"\n", args...)
}

// receive handles a line that Codex gets.
func (c *modelConn) receive(line string) {
	x := c.codex
	x.world.mu.Lock()
	defer x.world.mu.Unlock()
	if !slices.Contains(x.conns, c) {
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ ThreadID, TurnID string }
		Result struct{ Decision string }
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		panic(err)
	}
	thread := m.Params.ThreadID
	switch m.Method {
	case "":
		outcome := m.Result.Decision
		if outcome == "" {
			outcome = "error"
		}
		x.checkError(c, string(m.ID), outcome)
		x.answered(string(m.ID), outcome)
		return
	case "thread/resume":
		c.threads[thread] = true
		c.send(`{"id":%s,"result":{"thread":{"id":%q}}}`, m.ID, thread)
		for _, q := range x.questions {
			if q.open && q.thread == thread {
				x.deliver(c, q)
			}
		}
		return
	case "thread/unsubscribe":
		delete(c.threads, thread)
	case "turn/start":
		if x.running[thread] == "" {
			x.turns++
			x.running[thread] = fmt.Sprint("turn ", x.turns)
			x.began[x.running[thread]] = c
			x.tell(thread, `{"method":"turn/started","params":{"threadId":%q,"turn":{"id":%q}}}`, thread, x.running[thread])
		}
		c.send(`{"id":%s,"result":{"turn":{"id":%q}}}`, m.ID, x.running[thread])
		return
	case "turn/interrupt":
		if m.Params.TurnID == x.running[thread] {
			x.completeLocked(thread)
		}
	}
	c.send(`{"id":%s,"result":{}}`, m.ID)
}

// Streams implements bridge.Upstream.
func (c *modelConn) Streams() (io.WriteCloser, io.ReadCloser) { return c.toCodex, c.fromCodex }

// Done implements bridge.Upstream.
func (c *modelConn) Done() <-chan struct{} { return c.done }

// ExitState implements bridge.Upstream.
func (c *modelConn) ExitState() *os.ProcessState { return nil }

// Signal implements bridge.Upstream.
func (c *modelConn) Signal(os.Signal) {}

// Stop implements bridge.Upstream.
func (c *modelConn) Stop(time.Duration) { c.Kill() }

// ExitsWithin implements bridge.Upstream.
func (c *modelConn) ExitsWithin(time.Duration) bool { return true }

// PID implements bridge.Upstream.
func (c *modelConn) PID() int { return 1 }

// Kill implements bridge.Upstream.
func (c *modelConn) Kill() {
	c.once.Do(func() {
		c.leave()
		w := c.codex.world
		w.mu.Lock()
		w.codex.conns = slices.DeleteFunc(w.codex.conns, func(one *modelConn) bool { return one == c })
		w.mu.Unlock()
		c.toCodex.Close()
		c.fromCodex.Close()
		close(c.done)
	})
}

// linePipe is a pipe without a limit.
type linePipe struct {
	mu      sync.Mutex
	changed sync.Cond
	text    []byte
	closed  bool
}

func newLinePipe() *linePipe {
	p := new(linePipe)
	p.changed.L = &p.mu
	return p
}

// Write implements io.Writer.
func (p *linePipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, io.ErrClosedPipe
	}
	p.text = append(p.text, b...)
	p.changed.Broadcast()
	return len(b), nil
}

// Read implements io.Reader.
func (p *linePipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.text) == 0 && !p.closed {
		p.changed.Wait()
	}
	n := copy(b, p.text)
	if p.text = p.text[n:]; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Close ends the pipe after the text that was written.
func (p *linePipe) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.changed.Broadcast()
	return nil
}

// eachLine calls f for each line until the end.
func (p *linePipe) eachLine(f func(line string)) {
	text := ""
	for b := make([]byte, 4096); ; {
		n, err := p.Read(b)
		text += string(b[:n])
		for {
			line, rest, whole := strings.Cut(text, "\n")
			if !whole {
				break
			}
			text = rest
			f(line)
		}
		if err != nil {
			return
		}
	}
}
