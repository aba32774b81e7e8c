package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"codex-bridge/bridge/config"
	"codex-bridge/relay/tools"
)

var (
	errClosed = errors.New("it is closed: the bridge is ending")
	// errUnasked says that the server is gone and has not taken a call, which may be
	// repeated when it is there again.
	errUnasked = errors.New("the connection was lost")
)

// Server is a server of tools, a tools.Provider.
type Server struct {
	o      Options
	origin string
	dial   func(context.Context) (peer, error)

	life  context.Context // of all calls
	kill  context.CancelFunc
	grace context.Context // of the polite end
	hurry context.CancelFunc
	done  chan struct{} // the supervisor has ended
	kick  chan struct{} // start it now

	mu       sync.Mutex
	state    State
	begun    time.Time // of the first start
	peer     peer      // of a ready server
	offer    offer     // the last that was known
	err      error     // why it has failed
	attempts int       // how many starts there were
	birth    time.Time // of peer
	alive    bool      // it has been ready
	rests    bool      // it is started again only when it is needed
	moved    chan struct{}
}

// New makes a Server, which is started by Start or by the first that needs it.
func New(o Options) *Server {
	s := &Server{
		o: o.filled(), origin: config.Key("tool_servers", o.Name), state: Idle,
		done: make(chan struct{}), kick: make(chan struct{}, 1), moved: make(chan struct{}),
	}
	s.dial = s.dialer()
	s.life, s.kill = context.WithCancel(context.Background())
	s.grace, s.hurry = context.WithCancel(context.Background())
	return s
}

// Start starts the server unless it is started, and does not wait for it.
func (s *Server) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == Idle {
		s.begun = time.Now()
		s.state = Starting
		go s.supervise()
	}
}

// Specs are the tools as they are now. A server that is being started for the first time is
// waited for, until Options.Startup after its start. While one that died is being started
// again, they are what they were; there are none when that has been given up, until
// somebody needs the server.
func (s *Server) Specs() []tools.Spec {
	s.Start()
	s.mu.Lock()
	patience := time.Until(s.begun.Add(s.o.Startup))
	s.mu.Unlock()
	limit := time.NewTimer(max(0, patience))
	defer limit.Stop()
	for {
		s.mu.Lock()
		specs, moved := slices.Clone(s.offer.specs), s.moved
		settled := s.alive || s.state != Starting
		if s.rests {
			specs = nil
			s.wake()
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

// Timeout is 0: servers name none.
func (s *Server) Timeout(string) time.Duration { return 0 }

// Run calls a tool. A server that is being started is waited for; one that has died is
// started again for the call, once. One that never was there is an error at once.
func (s *Server) Run(ctx context.Context, call tools.Call) (tools.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.life, func() { cancel(errClosed) })()
	s.Start()
	r, err := s.run(ctx, call)
	if errors.Is(err, errUnasked) {
		r, err = s.run(ctx, call)
	}
	if err != nil {
		return tools.Result{}, fmt.Errorf("tool server %q: %w", s.o.Name, err)
	}
	return r, nil
}

func (s *Server) run(ctx context.Context, call tools.Call) (tools.Result, error) {
	p, name, err := s.ready(ctx, call.Name)
	if err != nil {
		return tools.Result{}, err
	}
	r, err := p.call(ctx, name, call)
	if err != nil && ctx.Err() != nil && context.Cause(ctx) == errClosed { //nolint:errorlint // our own, unwrapped
		err = errClosed
	}
	return r, err
}

// ready waits for the server, and tells its own name of a tool.
func (s *Server) ready(ctx context.Context, tool string) (peer, string, error) {
	kicked := 0 // the start that was asked for
	for {
		s.mu.Lock()
		moved := s.moved
		switch s.state {
		case Ready:
			select {
			case <-s.peer.gone(): // the supervisor will notice, too
			default:
				defer s.mu.Unlock()
				if own, ok := s.offer.names[tool]; ok {
					tool = own
				}
				return s.peer, tool, nil
			}
		case Failed:
			if s.life.Err() != nil || !s.alive || kicked != 0 && s.attempts >= kicked {
				defer s.mu.Unlock()
				s.wake()
				return nil, "", s.err
			}
			if kicked == 0 {
				kicked = s.attempts + 1
			}
			s.wake()
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

// wake has a server that has failed started now. The caller holds mu.
func (s *Server) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// Close ends the calls and the server, with what it has started, and waits for that;
// when ctx is done it goes on without politeness.
func (s *Server) Close(ctx context.Context) {
	defer s.hurry()
	s.kill()
	s.mu.Lock()
	never := s.begun.IsZero()
	if never {
		s.state, s.err = Failed, errClosed
	}
	s.mu.Unlock()
	if never {
		return
	}
	defer context.AfterFunc(ctx, s.hurry)()
	<-s.done
}
