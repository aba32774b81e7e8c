package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/tools"
)

var (
	errClosed = errors.New("it is closed")
	// errNotSent says that the connection was lost before the server ran the call, so it
	// may be repeated.
	errNotSent = errors.New("the connection was lost")
)

// Server is a Provider of the tools of a server.
type Server struct {
	options ServerOptions
	origin  string
	dial    func(context.Context) (peer, error)

	ctx           context.Context // ends all calls
	cancel        context.CancelFunc
	shutdownCtx   context.Context // ends the orderly shutdown
	forceShutdown context.CancelFunc
	done          chan struct{} // closed when supervise has returned
	startNow      chan struct{} // requests a start

	mu           sync.Mutex
	state        State
	firstStart   time.Time
	peer         peer      // set while state is Ready
	tools        toolList  // the last known
	lastErr      error     // why the last start or connection failed
	attempts     int       // number of starts
	readySince   time.Time // when peer became ready
	wasReady     bool      // it has been ready at least once
	isDormant    bool      // it is started again only on demand
	stateChanged chan struct{}
}

// NewServer returns a Server. It starts at Start or at its first use. The caller must call
// Close.
func NewServer(o ServerOptions) *Server {
	s := &Server{
		options: o.withDefaults(), origin: config.Key("tool_servers", o.Name), state: Idle,
		done: make(chan struct{}), startNow: make(chan struct{}, 1), stateChanged: make(chan struct{}),
	}
	s.dial = s.dialer()
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.shutdownCtx, s.forceShutdown = context.WithCancel(context.Background())
	return s
}

// Start starts the server unless it has been started. It does not wait.
func (s *Server) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == Idle {
		s.firstStart = time.Now()
		s.state = Starting
		go s.supervise()
	}
}

// Specs returns the current tools. It waits for the first start, until Startup has passed.
// During a restart it returns the previous tools. It returns none for a server that has
// been given up, and requests another start.
func (s *Server) Specs() []tools.Spec {
	s.Start()
	s.mu.Lock()
	patience := time.Until(s.firstStart.Add(s.options.Startup))
	s.mu.Unlock()
	limit := time.NewTimer(max(0, patience))
	defer limit.Stop()
	for {
		s.mu.Lock()
		specs, moved := slices.Clone(s.tools.specs), s.stateChanged
		settled := s.wasReady || s.state != Starting
		if s.isDormant {
			specs = nil
			s.requestStart()
		}
		s.mu.Unlock()
		if settled {
			return specs
		}
		select {
		case <-moved:
		case <-limit.C:
			return specs
		}
	}
}

// Timeout returns 0: servers have no timeouts of their own.
func (s *Server) Timeout(string) time.Duration { return 0 }

// Run calls a tool. It waits for a server that is starting, and restarts one that has died,
// once. It fails at once if the server has never been ready.
func (s *Server) Run(ctx context.Context, call tools.Call) (tools.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(errClosed) })()
	s.Start()
	r, err := s.run(ctx, call)
	if errors.Is(err, errNotSent) {
		r, err = s.run(ctx, call)
	}
	if err != nil {
		return tools.Result{}, fmt.Errorf("tool server %q: %w", s.options.Name, err)
	}
	return r, nil
}

func (s *Server) run(ctx context.Context, call tools.Call) (tools.Result, error) {
	p, name, err := s.waitReady(ctx, call.Name)
	if err != nil {
		return tools.Result{}, err
	}
	r, err := p.call(ctx, name, call)
	if err != nil && ctx.Err() != nil && context.Cause(ctx) == errClosed { //nolint:errorlint // errClosed is never wrapped as a cause
		err = errClosed
	}
	return r, err
}

// waitReady waits for the server, and returns it with its own name of the tool.
func (s *Server) waitReady(ctx context.Context, tool string) (peer, string, error) {
	kicked := 0 // the start that this call waits for
	for {
		s.mu.Lock()
		moved := s.stateChanged
		switch s.state {
		case Ready:
			select {
			case <-s.peer.done(): // the supervisor will notice too
			default:
				defer s.mu.Unlock()
				if own, ok := s.tools.names[tool]; ok {
					tool = own
				}
				return s.peer, tool, nil
			}
		case Failed:
			if s.ctx.Err() != nil || kicked != 0 && s.attempts >= kicked {
				defer s.mu.Unlock()
				return nil, "", s.lastErr
			}
			if !s.wasReady {
				defer s.mu.Unlock()
				s.requestStart()
				return nil, "", s.lastErr
			}
			if kicked == 0 {
				kicked = s.attempts + 1
			}
			s.requestStart()
		case Starting:
			kicked = s.attempts
		}
		s.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, "", fmt.Errorf("it is not ready: %w", context.Cause(ctx))
		}
	}
}

// requestStart makes the supervisor start a failed server now. s.mu is held.
func (s *Server) requestStart() {
	select {
	case s.startNow <- struct{}{}:
	default:
	}
}

// Close ends the calls and the server, and waits. When ctx is done it kills the server.
func (s *Server) Close(ctx context.Context) {
	defer s.forceShutdown()
	s.cancel()
	s.mu.Lock()
	never := s.firstStart.IsZero()
	if never {
		s.state, s.lastErr = Failed, errClosed
	}
	s.mu.Unlock()
	if never {
		return
	}
	defer context.AfterFunc(ctx, s.forceShutdown)()
	<-s.done
}

// ServerOptions configure a Server. Name and Config are required.
type ServerOptions struct {
	Name   string
	Config config.ToolServer
	// Dir is the folder of a command; "": the bridge's.
	Dir string
	// Env is the whole environment of a command, without the bridge's secrets.
	Env []string
	// LookupEnv returns the variable with a token; nil: os.LookupEnv.
	LookupEnv func(name string) (string, bool)
	// Version is the bridge's version for servers.
	Version string
	// Searchable offers the tools to the model's search instead of showing them.
	Searchable bool
	Log        *slog.Logger
	// OnChange is called when Specs or Status may have changed, but not when the server is
	// restarted. It must not block or call Close.
	OnChange func()

	// Startup is how long Specs waits for a starting server; 0: 5 s.
	Startup time.Duration
	// Handshake is how long a server may take until it has listed its tools; 0: 60 s. A
	// package runner may have to download the server first.
	Handshake time.Duration
	// Grace is how long a child may take to exit after its stdin is closed, and again after
	// SIGTERM; 0: 750 ms.
	Grace time.Duration
}

func (o ServerOptions) withDefaults() ServerOptions {
	o.Startup = cmp.Or(o.Startup, 5*time.Second)
	o.Handshake = cmp.Or(o.Handshake, time.Minute)
	o.Grace = cmp.Or(o.Grace, 750*time.Millisecond)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Log = o.Log.With("tool_server", o.Name)
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	if o.OnChange == nil {
		o.OnChange = func() {}
	}
	return o
}

// State is the state of a server.
type State string

// The states.
const (
	Idle     State = "idle"     // not started yet
	Starting State = "starting" // first start or restart
	Ready    State = "ready"
	Failed   State = "failed" // waits for its next start, or is closed
)

// Status describes a server for bridge/status and doctor.
type Status struct {
	Name     string `json:"name"`
	State    State  `json:"state"`
	Tools    int    `json:"tools"`
	Restarts int    `json:"restarts"`
	Error    string `json:"error,omitempty"` // of the last start or connection; if ready, a problem with its tools
}

// Status returns the current status.
func (s *Server) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := Status{Name: s.options.Name, State: s.state, Tools: len(s.tools.specs), Restarts: max(0, s.attempts-1)}
	switch {
	case s.state == Ready:
		status.Error = s.tools.note
	case s.lastErr != nil:
		status.Error = s.lastErr.Error()
	}
	return status
}
