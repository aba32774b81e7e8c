package acp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"codex-bridge.example/bridge/problem"
)

// State is the state of a child.
type State string

// The states.
const (
	Starting State = "starting"
	Idle     State = "idle"
	Running  State = "running"
	Ended    State = "ended"
)

// turn is one turn of a child.
type turn struct{ run, text string }

// maxTurns is the maximum number of waiting turns of a session.
const maxTurns = 64

// session is a child: its agent and its turns, which one goroutine runs one after the other.
type session struct {
	all   *Agents
	child Child
	began time.Time
	turns chan turn
	out   *outbox

	mu      sync.Mutex
	state   State
	agent   *agent
	run     string
	problem string
	stream  *Stream                 // the notices for the requester, or nil
	since   time.Time               // the start of the current turn
	stop    context.CancelCauseFunc // ends the current turn
	over    context.CancelCauseFunc // ends the session; nil while it is starting
	ended   chan struct{}           // closed when the session has ended and is removed
}

func newSession(a *Agents, c Child) *session {
	return &session{all: a, child: c, began: time.Now(), turns: make(chan turn, maxTurns), state: Starting, ended: make(chan struct{})}
}

var (
	errCancelled = errors.New("it was cancelled")
	errIdle      = errors.New("the session was idle for too long")
	errEnded     = errors.New("it has ended")
	errStarting  = errors.New("it is still being started; wait for the answer to bridge/acp/spawn")
)

// open starts the agent and the goroutine that runs the turns.
func (s *session) open(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.all.ctx, func() { cancel(errBridgeEnded) })()
	command, _ := s.all.o.Settings().Command(s.child.Agent)
	if len(command) == 0 {
		return fmt.Errorf("the agent %q is no longer configured", s.child.Agent)
	}
	s.out = newOutbox(s.deliver)
	c := &client{
		judge: s.all.o.Judge, put: s.out.put, during: s.all.ctx, ask: Ask{Child: s.child.Key, Agent: s.child.Agent, Folder: s.child.Cwd},
	}
	p := program{command: command, cwd: s.child.Cwd, env: s.all.o.Env, version: s.all.o.Version, open: s.all.o.Open, grace: s.all.o.Grace}
	agent, err := p.start(ctx, c, s.child.Resume)
	if err != nil {
		s.out.close()
		return err
	}
	sessionCtx, over := context.WithCancelCause(s.all.ctx)
	s.mu.Lock()
	s.agent, s.state, s.over = agent, Idle, over
	s.mu.Unlock()
	s.all.work.Go(func() { s.live(sessionCtx) })
	return nil
}

// enqueue queues a turn.
func (s *session) enqueue(t turn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == Ended {
		return errEnded
	}
	select {
	case s.turns <- t:
		s.run = t.run
		return nil
	default:
		return fmt.Errorf("%d turns are waiting, which is the maximum; wait for one of them", maxTurns)
	}
}

// live runs the turns until the session ends, and then ends the agent.
func (s *session) live(ctx context.Context) {
	defer close(s.ended)
	reason := s.runTurns(ctx)
	s.mu.Lock()
	s.state = Ended
	if reason != nil && !errors.Is(reason, errEnded) {
		s.problem = reason.Error()
	}
	waiting := s.turns
	s.mu.Unlock()
	if err := s.agent.close(context.Background()); err != nil {
		s.all.o.Log.Warn("an agent could not be ended", "child", s.child.Key, "error", err)
	}
	for len(waiting) > 0 { // enqueue adds nothing after Ended
		t := <-waiting
		s.notify(t.run, Update{Kind: Cancelled, Text: reasonText(reason)})
	}
	s.out.close()
	s.setStream(nil)
	s.all.forget(s)
}

// setStream replaces the stream of notices and disposes of the one before.
func (s *session) setStream(next *Stream) {
	s.mu.Lock()
	before := s.stream
	s.stream = next
	s.mu.Unlock()
	if before != nil {
		before.Dispose()
	}
}

// deliver sends an update to the client and to the stream of its run.
func (s *session) deliver(u Update) {
	s.all.o.Notify(u)
	s.mu.Lock()
	stream, since := s.stream, s.since
	s.mu.Unlock()
	if stream == nil || stream.o.Run != u.Run {
		return
	}
	switch u.Kind {
	case Said, Thought:
		for piece := range u.Pieces() { // a notice ends with the piece that ends a paragraph
			stream.AddText(piece, u.Kind == Thought)
		}
	case Done:
		stream.Ended(time.Since(since), false, "")
	case Broken, Cancelled:
		stream.Ended(time.Since(since), true, u.Text)
	}
}

func reasonText(err error) string {
	if err == nil {
		return ""
	}
	return problem.Text(err)
}

// runTurns runs the turns until the session ends, and returns the reason for the end.
func (s *session) runTurns(ctx context.Context) error {
	idle := time.NewTimer(s.all.o.Idle)
	defer idle.Stop()
	for {
		idle.Reset(s.all.o.Idle)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.agent.child.Exited():
			return s.agent.describeError(ctx, errEnded)
		case <-idle.C:
			return errIdle
		case t := <-s.turns:
			err := s.runTurn(ctx, t)
			switch {
			case s.child.Mode == Run:
				return err
			case !s.agent.alive():
				return s.agent.describeError(ctx, errEnded)
			}
		}
	}
}

// runTurn runs a turn of the agent and sends its updates. It returns an error if the turn failed.
func (s *session) runTurn(ctx context.Context, t turn) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.all.o.Turn, fmt.Errorf("it took longer than %s", s.all.o.Turn))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s.mu.Lock()
	s.state, s.run, s.stop, s.since = Running, t.run, stop, time.Now()
	s.mu.Unlock()
	s.agent.client.setTurn(ctx, t.run)
	s.notify(t.run, Update{Kind: Started})
	reason, err := s.agent.prompt(ctx, t.text)
	s.agent.client.setTurn(s.all.ctx, "")
	s.mu.Lock()
	s.state, s.stop = Idle, nil
	s.mu.Unlock()
	switch {
	case errors.Is(err, errCancelled), errors.Is(err, errBridgeEnded), errors.Is(err, errEnded):
		s.notify(t.run, Update{Kind: Cancelled, Text: problem.Text(err), Stop: reason})
	case err != nil:
		s.notify(t.run, Update{Kind: Broken, Text: problem.Text(err)})
	default:
		s.notify(t.run, Update{Kind: Done, Stop: reason})
	}
	return err
}

// notify puts an update of a run into the outbox.
func (s *session) notify(run string, u Update) {
	u.Child, u.Agent, u.Run = s.child.Key, s.child.Agent, run
	s.out.put(u)
}

// send queues a turn with the text and returns its run id.
func (s *session) send(text string) (string, error) {
	run := uuid.NewString()
	return run, s.enqueue(turn{run, text})
}

// cancel ends the current turn. It ends a child of mode Run, even if its turn has not started.
func (s *session) cancel(ctx context.Context) error {
	if s.child.Mode == Run {
		return s.finish(ctx, errCancelled)
	}
	s.mu.Lock()
	stop := s.stop
	s.mu.Unlock()
	if stop == nil {
		return errors.New("no turn is running")
	}
	stop(errCancelled)
	return nil
}

// end ends the child and waits until it has ended.
func (s *session) end(ctx context.Context) error { return s.finish(ctx, errEnded) }

func (s *session) finish(ctx context.Context, reason error) error {
	s.mu.Lock()
	over := s.over
	s.mu.Unlock()
	if over == nil {
		return errStarting
	}
	over(reason)
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *session) info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := Info{
		Child: s.child.Key, Agent: s.child.Agent, Label: s.child.Label, Mode: s.child.Mode, State: s.state, Run: s.run, Cwd: s.child.Cwd,
		Began: s.began, Spawner: s.child.SpawnedBy, Problem: s.problem,
	}
	if s.agent != nil {
		i.Session = string(s.agent.id)
	}
	return i
}
