package serve

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/relay/handlers"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
)

// ClientsOptions configure Clients. The functions must be safe for concurrent calls.
type ClientsOptions struct {
	// Parent returns the parent thread of a subagent's thread, or "".
	Parent func(thread string) string
	// AnyMayAnswer reports whether each client of a thread may answer for the person, and not only the
	// one that began the turn.
	AnyMayAnswer bool
	// Timeout returns how long a question waits if no client may answer it.
	Timeout func() time.Duration
	// Decline logs that a request of Codex is declined, and declines it by a connection that does not end
	// with a client. It may wait.
	Decline func(asked *rpc.Envelope, rule, reason string)
	// NoClient answers a hook while no client is connected.
	NoClient func(context.Context, *hook.Call) hook.Answer
	Log      *slog.Logger
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
	turns   map[string]*Client          // who began a turn, by its id
	order   []string                    // the keys of turns, the oldest first
	pending map[string]*pendingQuestion // by rpc.ID.Key of Codex's requests
	asking  map[*asking]struct{}        // questions of the bridge
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
}

// NewClients returns Clients without a client.
func NewClients(o ClientsOptions) *Clients {
	return &Clients{
		options: o, threads: make(map[string]*openThread), turns: make(map[string]*Client),
		pending: make(map[string]*pendingQuestion), asking: make(map[*asking]struct{}),
	}
}

// ClientOptions describe one client. The functions must be safe for concurrent calls.
type ClientOptions struct {
	Name func() string // for the log, and for other clients
	Settings
	// Replaced judges overrides of the Settings, under the policy.
	Replaced Replaced
	// KnowsBridge reports whether the client has offered capabilities.bridge.
	KnowsBridge func() bool
	// HasPerson reports whether the client answers questions for a person, or else why not.
	HasPerson func() (ok bool, why string)
	// Gate returns the Gate that shows the bridge's questions in the client.
	Gate func() *handlers.Gate
	// IsOwnTool reports whether the client itself runs the tool that Codex calls.
	IsOwnTool func(params rpc.Value) bool
	// Decide answers a hook of a turn. attended is false if the client that began the turn has gone, so
	// that no person can be asked.
	Decide func(ctx context.Context, call *hook.Call, attended bool) hook.Answer
	// Refuse logs that a request of the client is refused, and returns the error for it.
	Refuse func(context.Context, *bridge.ClientMessage, rpc.Code, policy.Refusal) *rpc.Error
}

// Client is one client of Codex. As a bridge.Feature it must be the first one: it keeps questions from
// the later features that another client answers. See Requests for the requests of the client.
type Client struct {
	ClientOptions
	clients *Clients
	conn    *bridge.Conn

	mu      sync.Mutex
	opening map[string]chan struct{} // by thread, closed after the response to the request that opens it

	ended map[string]struct{} // keys of questions whose end the bridge has sent; the lock of clients guards it
}

// Clients returns the clients of the same Codex.
func (c *Client) Clients() *Clients { return c.clients }

// Attach implements bridge.Attacher.
func (c *Client) Attach(conn *bridge.Conn) { c.conn = conn }

// NewClient returns a client, which gets no hooks before Join.
func (s *Clients) NewClient(o ClientOptions) *Client {
	return &Client{ClientOptions: o, clients: s, opening: make(map[string]chan struct{}), ended: make(map[string]struct{})}
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
	for id, t := range s.threads {
		t.pending = without(t.pending, c)
		if slices.Contains(t.clients, c) {
			s.closeLocked(c, id, t)
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
	for key, q := range s.pending {
		s.leaveLocked(c, key, q)
	}
	s.mu.Unlock()
	s.askAgain()
	return alone
}

// without returns a copy of the list without a client.
func without(list []*Client, c *Client) []*Client {
	return slices.DeleteFunc(slices.Clone(list), func(one *Client) bool { return one == c })
}

// closeLocked records that a client gets no more notifications of a thread.
func (s *Clients) closeLocked(c *Client, id string, t *openThread) {
	t.clients, t.leaving = without(t.clients, c), without(t.leaving, c)
	if len(t.clients) == 0 {
		delete(s.threads, id)
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
		{From: bridge.Codex, Method: "turn/completed", Why: why, HandleServer: c.turnCompleted, Required: notRequired},
		{From: bridge.Codex, Method: "serverRequest/resolved", Why: why, HandleServer: c.resolved, Required: notRequired},
		{From: bridge.Codex, Method: bridge.Other, Why: why, HandleServer: c.question},
	}
	for _, method := range methods.UnloadNotifications {
		routes = append(routes, bridge.Route{From: bridge.Codex, Method: method, Why: why, HandleServer: c.threadClosed, Required: notRequired})
	}
	for row := range methods.Rows() {
		if row.Side == methods.ServerRequest {
			routes = append(routes, bridge.Route{From: bridge.Codex, Method: row.Method, Why: why, HandleServer: c.question})
		}
	}
	return routes
}

// Stage implements bridge.Feature.
func (*Client) Stage() bridge.Stage { return bridge.BeforeGuard }

func notRequired() bool { return false }
