package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
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
		NoClient: func(context.Context, *hook.Call) hook.Answer { return hook.Answer{Decision: hook.Deny} },
		Log:      slog.New(slog.DiscardHandler),
	})
	w.memory = approvals.NewMemory(approvals.MemoryOptions{Approvals: modelApprovals, Store: func(context.Context) (approvals.Store, error) {
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
		IsOwnTool: func(rpc.Value) bool { return false }, Refuse: refuse,
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
func (modelPolicy) AcceptedByPerson(*rpc.Envelope)                                         {}
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
func (modelPolicy) Consents(rpc.Value, toolcall.Call) bool                             { return false }
func (modelPolicy) WantsNotification(string) bool                                      { return true }
func (modelPolicy) Append(context.Context, decision.Record) error                      { return nil }
func (modelPolicy) AsksAboutMCP(string, string) bool                                   { return false }
func (modelPolicy) AcceptsCall(context.Context, *rpc.Envelope) bool                    { return false }
func (modelPolicy) RecordChange(context.Context, *rpc.Envelope, []byte, policy.Change) {}
func (modelPolicy) RecordAnswer(context.Context, *rpc.Envelope, policy.Verdict, string, string, string) error {
	return nil
}

type noSessions struct{}

func (noSessions) Apps(context.Context, string) *answer.Apps { return nil }
func (noSessions) Running(string) string                     { return "" }
