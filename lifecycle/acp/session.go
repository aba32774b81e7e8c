package acp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
)

// State is what a child does.
type State string

// The states.
const (
	Starting State = "starting"
	Idle     State = "idle"
	Running  State = "running"
	Ended    State = "ended"
)

// turn is one of a child's.
type turn struct{ run, text string }

// mostTurns is how many may wait in a session's line.
const mostTurns = 64

// session is a child: its agent, and its turns, one after the other, by one goroutine.
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
	stream  *Stream                 // nil: nobody but the client hears of it
	since   time.Time               // of the turn under way
	stop    context.CancelCauseFunc // of the turn under way
	over    context.CancelCauseFunc // of the session; nil: there is no line yet
	ended   chan struct{}           // when it has, and nothing is left of it
}

func newSession(a *Agents, c Child) *session {
	return &session{all: a, child: c, began: time.Now(), turns: make(chan turn, mostTurns), state: Starting, ended: make(chan struct{})}
}

var (
	errCancelled = errors.New("it was cancelled")
	errIdle      = errors.New("the session was idle for too long")
	errOver      = errors.New("it has ended")
	errStarting  = errors.New("it is still being started; wait for the answer to bridge/acp/spawn")
)

// open starts the agent, and the line.
func (s *session) open(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.all.ctx, func() { cancel(errGone) })()
	command, _ := s.all.o.Settings().Command(s.child.Agent)
	if len(command) == 0 {
		return fmt.Errorf("there is no agent %q any more", s.child.Agent)
	}
	s.out = newOutbox(s.heard)
	c := &client{
		judge: s.judge, tell: s.out.put, silent: true,
		ask:    Ask{Child: s.child.Key, Agent: s.child.Agent, Cwd: s.child.Cwd},
		update: Update{Child: s.child.Key, Agent: s.child.Agent},
	}
	p := program{command: command, cwd: s.child.Cwd, env: s.all.o.Env, version: s.all.o.Version, open: s.all.o.Open, grace: s.all.o.Grace}
	agent, err := p.start(ctx, c, s.child.Resume)
	if err != nil {
		s.out.close()
		return err
	}
	life, over := context.WithCancelCause(s.all.ctx)
	s.mu.Lock()
	s.agent, s.state, s.over = agent, Idle, over
	s.mu.Unlock()
	s.all.work.Go(func() { s.live(life) })
	return nil
}

// judge asks whether a call may be made, for as long as the session lives.
func (s *session) judge(ctx context.Context, a Ask) Answer {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.all.ctx, func() { cancel(errGone) })()
	return s.all.o.Judge(ctx, a)
}

// take puts a turn in line.
func (s *session) take(t turn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == Ended {
		return errOver
	}
	select {
	case s.turns <- t:
		s.run = t.run
		return nil
	default:
		return fmt.Errorf("%d turns wait in line, and more are not taken", mostTurns)
	}
}

// live takes the turns until the session is over, and ends the agent.
func (s *session) live(ctx context.Context) {
	defer close(s.ended)
	reason := s.line(ctx)
	s.mu.Lock()
	s.state = Ended
	if reason != nil && !errors.Is(reason, errOver) {
		s.problem = reason.Error()
	}
	waiting := s.turns
	s.mu.Unlock()
	if err := s.agent.close(context.Background()); err != nil {
		s.all.o.Log.Warn("an agent is left", "child", s.child.Key, "error", err)
	}
	for len(waiting) > 0 { // nobody puts more in line
		t := <-waiting
		s.tell(t.run, Update{Kind: Cancelled, Text: reasonText(reason)})
	}
	s.out.close()
	s.streams(nil)
	s.all.forget(s)
}

// streams has the work told to a conversation, in the place of the one before.
func (s *session) streams(next *Stream) {
	s.mu.Lock()
	before := s.stream
	s.stream = next
	s.mu.Unlock()
	if before != nil {
		before.Dispose()
	}
}

// heard tells an update on, to the client and to the conversation that asked.
func (s *session) heard(u Update) {
	s.all.o.Tell(u)
	s.mu.Lock()
	stream, since := s.stream, s.since
	s.mu.Unlock()
	if stream == nil || stream.o.Run != u.Run {
		return
	}
	switch u.Kind {
	case Said, Thought:
		stream.Said(u.Text, u.Kind == Thought)
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
	return err.Error()
}

// line takes turns. It returns why there are no more.
func (s *session) line(ctx context.Context) error {
	idle := time.NewTimer(s.all.o.Idle)
	defer idle.Stop()
	for {
		idle.Reset(s.all.o.Idle)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.agent.child.Exited():
			return s.agent.why(ctx, errOver)
		case <-idle.C:
			return errIdle
		case t := <-s.turns:
			err := s.turn(ctx, t)
			switch {
			case s.child.Mode == Run:
				return err
			case !s.agent.alive():
				return s.agent.why(ctx, errOver)
			}
		}
	}
}

// turn has the agent take one, and tells of it. The error is why it did not end well.
func (s *session) turn(ctx context.Context, t turn) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.all.o.Turn, fmt.Errorf("it took longer than %s", s.all.o.Turn))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s.mu.Lock()
	s.state, s.run, s.stop, s.since = Running, t.run, stop, time.Now()
	s.mu.Unlock()
	s.agent.client.turn(ctx, t.run)
	s.tell(t.run, Update{Kind: Started})
	reason, err := s.agent.prompt(ctx, t.text)
	s.agent.client.turn(context.Background(), "")
	s.mu.Lock()
	s.state, s.stop = Idle, nil
	s.mu.Unlock()
	switch {
	case errors.Is(err, errCancelled), errors.Is(err, errGone), errors.Is(err, errOver):
		s.tell(t.run, Update{Kind: Cancelled, Text: err.Error(), Stop: reason})
	case err != nil:
		s.tell(t.run, Update{Kind: Broken, Text: err.Error()})
	default:
		s.tell(t.run, Update{Kind: Done, Stop: reason})
	}
	return err
}

func (s *session) tell(run string, u Update) {
	u.Child, u.Agent, u.Run = s.child.Key, s.child.Agent, run
	s.out.put(u)
}

// send puts another turn in line.
func (s *session) send(text string) (string, error) {
	run := uuid.NewString()
	return run, s.take(turn{run, text})
}

// cancel ends the turn under way; of a run, the child with it, whose turn may not have
// begun.
func (s *session) cancel(ctx context.Context) error {
	if s.child.Mode == Run {
		return s.finish(ctx, errCancelled)
	}
	s.mu.Lock()
	stop := s.stop
	s.mu.Unlock()
	if stop == nil {
		return errors.New("no turn is under way")
	}
	stop(errCancelled)
	return nil
}

// end ends the child.
func (s *session) end(ctx context.Context) error { return s.finish(ctx, errOver) }

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
