// Package hub serves several clients with one Codex: codex-bridge serve, the clients that join it, Codex's daemon, and Codex's
// terminal interface.
package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/cmd/codex-bridge/internal/assembly"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
	"codex-bridge.example/cmd/internal/core"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/relay/handlers"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/relay/redact"
	"codex-bridge.example/rpc"
	"codex-bridge.example/serve"
)

// Hub serves several clients with one Codex. Each client has a conversation and a connection to Codex of
// its own. A Codex that has exited is started again for the next client.
type Hub struct {
	record *decisionlog.Log
	log    *slog.Logger
	stderr io.Writer // of Codex
	// workspace is the folder whose policy files the configuration has; "": none.
	workspace string
	config    atomic.Pointer[config.Config]
	// args are overrides of Codex's configuration from a command line, notices what the user reads about it.
	args, notices []string
	// turns is how long running turns may go on at the end; 0: for the grace.
	turns time.Duration

	mu      sync.Mutex
	policy  *policy.Policy // of the latest change; nil: that of config
	current *generation

	ended context.Context // no Codex starts afterwards
	end   func()
}

// generation is one Codex with its clients.
type generation struct {
	*assembly.Shared
	server   *codex.Server
	refusals refusals
	clients  *serve.Clients
	notices  []string // for the user, about the command line
	grace    time.Duration
	turns    time.Duration // how long running turns may go on at the end
	watch    sync.Once     // calls watchThreads

	mu   sync.Mutex
	open map[*assembly.Conversation]struct{}
}

// New returns a hub for the configuration of a workspace; "" means none. Codex's output goes to stderr without
// secrets.
func New(cfg *config.Config, workspace string, record *decisionlog.Log, stderr io.Writer, log *slog.Logger) *Hub {
	h := &Hub{record: record, log: log, stderr: redact.New(redact.Limits{Text: maxCodexOutput}, configured.Setup.Secrets(cfg)...).Writer(stderr), workspace: workspace}
	h.ended, h.end = context.WithCancel(context.Background())
	h.config.Store(cfg)
	return h
}

// maxCodexOutput is how many characters of Codex's stderr are kept of one write.
const maxCodexOutput = 1 << 20

// identity returns what a server says of itself.
func (h *Hub) identity() serve.Identity {
	return serve.Identity{PID: os.Getpid(), Enforces: h.config.Load().Policy.Mode == config.Enforce}
}

// commandsHaveNetwork reports whether the policy allows commands in the sandbox the network.
func (h *Hub) commandsHaveNetwork() bool {
	p := h.config.Load().Policy
	return p.Mode == config.Enforce && p.Network
}

// converse runs the conversation of a client, and starts Codex if it does not run, or if it is ending.
func (h *Hub) converse(ctx context.Context, settings serve.Settings, client io.ReadWriter) error {
	for again := false; ; again = true {
		g, err := h.generation()
		if err != nil {
			return err
		}
		err = g.converse(ctx, settings, client)
		if unreached := new(dialError); again || !errors.As(err, unreached) || !g.ends(ctx) {
			return err
		}
	}
}

// dialError is the error of a connection to Codex that was not made.
type dialError struct{ error }

// ends reports whether Codex, to which a connection was not made, ends now.
func (g *generation) ends(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, g.grace)
	defer cancel()
	select {
	case <-g.server.Done():
		return true
	case <-ctx.Done():
		return false
	}
}

// generation returns the current Codex. It starts one if there is none, or if it has exited.
func (h *Hub) generation() (*generation, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended.Err() != nil {
		return nil, errors.New("codex-bridge ends")
	}
	if h.current != nil {
		select {
		case <-h.current.server.Done():
			h.log.Warn("codex has exited; it is started again")
			h.current.close()
		default:
			return h.current, nil
		}
	}
	var err error
	h.current, err = h.newGeneration()
	return h.current, err
}

// newGeneration starts Codex. The lock must be held. The configuration may differ from that of an earlier
// Codex, and so may the arguments that the policy needs.
func (h *Hub) newGeneration() (g *generation, err error) {
	cfg := h.config.Load()
	command, notices, err := serveCommand(cfg, h.args, h.record, h.log)
	if err != nil {
		return nil, err
	}
	if err := settings.KeepTrustList(cfg); err != nil {
		return nil, err
	}
	shared, err := assembly.NewShared(cfg, h.workspace, command, h.record, h.log)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			core.CloseTogether(shared.Parts())
		}
	}()
	if h.policy != nil {
		shared.Guard.SetPolicy(h.policy)
	}
	g = &generation{Shared: shared, notices: slices.Concat(h.notices, notices), grace: time.Duration(cfg.Codex.ShutdownGrace), turns: cmp.Or(h.turns, time.Duration(cfg.Codex.ShutdownGrace)), open: make(map[*assembly.Conversation]struct{})}
	g.clients = serve.NewClients(serve.ClientsOptions{
		Parent: shared.Guard.Parent, AnyMayAnswer: cfg.Serve.Answer == config.AnyClient, Decline: g.decline, NoClient: g.denyWithoutClient, Log: h.log,
		Timeout: func() time.Duration { return time.Duration(shared.Config.Load().Approvals.Timeout) },
	})
	shared.Socket.Decide = func(ctx context.Context, call *hook.Call) hook.Answer {
		g.watch.Do(g.watchThreads)
		return g.clients.Decide(ctx, call)
	}
	if shared.Guard.Enforces() {
		if err := shared.Program.RequireVersion(h.ended, core.Enforceable(cfg)); err != nil {
			return nil, err
		}
	}
	if g.server, err = codex.StartServer(h.ended, shared.Command, h.stderr); err != nil {
		return nil, shared.Starts.StartError(err, cfg)
	}
	return g, nil
}

// close ends Codex with all it has started.
func (g *generation) close() {
	g.server.Close(g.turns, g.grace)
	core.CloseTogether(g.Parts())
}

// setPolicy applies a changed policy.
func (h *Hub) setPolicy(p *policy.Policy) {
	h.mu.Lock()
	h.policy = p // also of a Codex that starts before SetConfig
	g := h.current
	h.mu.Unlock()
	if g == nil {
		return
	}
	unverified := g.Guard.SetPolicy(p)
	var clients []*guard.Guard
	for _, a := range g.assemblies() {
		clients = append(clients, a.Guard)
	}
	g.Starts.Changed(p, h.log, clients...)
	if unverified {
		go g.interruptTurns(h.ended)
	}
}

// SetConfig applies a changed configuration.
func (h *Hub) setConfig(cfg *config.Config) {
	kept, started := *cfg, h.config.Load().Serve // the listeners stay as they are
	kept.Serve.Listen, kept.Serve.TokenFile = started.Listen, started.TokenFile
	cfg = &kept
	h.config.Store(cfg)
	if g := h.running(); g != nil {
		g.SetConfig(cfg)
		for _, a := range g.assemblies() {
			a.SetConfig(cfg)
		}
	}
}

// reloaded tells the clients that the configuration has changed.
func (h *Hub) reloaded(err error) {
	if g := h.running(); g != nil {
		for _, a := range g.assemblies() {
			a.Hello.NotifyReloaded(err)
		}
	}
}

// running returns the current Codex, or nil.
func (h *Hub) running() *generation {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.current
}

func (g *generation) assemblies() (all []*assembly.Conversation) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for a := range g.open {
		all = append(all, a)
	}
	return all
}

// kill ends Codex at once, and so all conversations.
func (h *Hub) kill() {
	h.end()
	if g := h.running(); g != nil {
		g.server.Kill()
	}
}

// Close ends Codex. The conversations have ended before.
func (h *Hub) Close() {
	h.end()
	g := h.running() // without the lock: kill may be called while Codex ends
	if g != nil {
		g.close()
	}
}

// converse runs the conversation of a client. An error means that it did not start. At the end of ctx a
// Codex that does not read may hold it for twice the grace.
func (g *generation) converse(ctx context.Context, settings serve.Settings, stream io.ReadWriter) error {
	dialing, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := g.server.Dial(dialing)
	if err != nil {
		return dialError{err}
	}
	var a *assembly.Conversation
	client := g.clients.NewClient(serve.ClientOptions{
		Settings: settings,
		Replaced: func(key string, value, by json.RawMessage) (bool, string) {
			return a.Guard.Policy().ReplacedOverride(key, value, by)
		},
		Name:        func() string { return a.Guard.Client() },
		KnowsBridge: func() bool { return a.Hello.KnowsBridge() },
		HasPerson:   func() (bool, string) { return a.Answers() },
		Gate:        func() *handlers.Gate { return a.Gate() },
		IsOwnTool:   func(params rpc.Value) bool { return a.Tools.IsClientTool(params) },
		Decide: func(ctx context.Context, call *hook.Call, attended bool) hook.Answer {
			return a.Hooks.Decide(ctx, call, attended)
		},
		Refuse: func(ctx context.Context, call *bridge.ClientMessage, code rpc.Code, r policy.Refusal) *rpc.Error {
			return a.Guard.Refuse(ctx, call, code, r)
		},
	})
	if a, err = assembly.New(g.Shared, g.Log, client); err != nil {
		conn.Kill()
		return err
	}
	a.Hello.AddStatus("clients", func() any { return g.clients.Count() })
	client.Join()
	leave := func() { a.Guard.Leave(client.Leave()) }
	context.AfterFunc(conn.Context(), leave) // Codex has ended the connection
	a.Options.In, a.Options.Out, a.Options.Lines = stream, stream, true
	a.Options.Upstream = leavingConn{conn, leave}
	a.Guard.SetStartNotices(g.notices)
	p, err := bridge.NewProxy(a.Options)
	if err != nil {
		leave()
		conn.Kill()
		a.Close()
		return err
	}
	g.mu.Lock()
	g.open[a] = struct{}{}
	g.mu.Unlock()
	if cfg := g.Config.Load(); cfg != a.Cfg { // it has changed since assemble
		a.SetConfig(cfg)
	}
	a.Tools.Start()
	defer context.AfterFunc(ctx, func() {
		if !conn.ExitsWithin(2 * g.grace) {
			conn.Kill()
		}
	})()
	p.Run(context.Background(), nil)
	conn.Kill()
	leave() // also threads that a late response has opened
	g.mu.Lock()
	delete(g.open, a)
	g.mu.Unlock()
	a.Close()
	return nil
}

// dialTimeout is how long a connection to Codex may take.
const dialTimeout = 30 * time.Second

// leavingConn is a connection to Codex. The threads of its client must be opened again before Codex
// knows that the connection has ended.
type leavingConn struct {
	*codex.Conn
	leave func()
}

// Stop implements bridge.Upstream.
func (c leavingConn) Stop(grace time.Duration) {
	c.leave()
	c.Conn.Stop(grace)
}

// Kill implements bridge.Upstream.
func (c leavingConn) Kill() {
	c.leave()
	c.Conn.Kill()
}
