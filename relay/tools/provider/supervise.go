package provider

import (
	"context"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"codex-bridge.example/bridge/display"
)

const (
	// stableAfter is the uptime after which earlier failures are forgotten.
	stableAfter = time.Minute
	// maxFailures is the number of failures in a row after which the server is started only
	// on demand: about a minute and a half.
	maxFailures = 12
)

// supervise starts the server again and again until Close.
func (s *Server) supervise() {
	defer close(s.done)
	pause := backoff.NewExponentialBackOff() // starts at 0.5 s, times 1.5 each
	pause.MaxInterval = 30 * time.Second
	deaths := 0
	for s.ctx.Err() == nil {
		err := s.runOnce()
		if lived := s.uptime(); lived > stableAfter {
			pause.Reset()
			deaths = 0
		}
		deaths++
		s.setFailed(err, deaths >= maxFailures)
		s.waitForRestart(pause.NextBackOff(), deaths >= maxFailures)
	}
	s.setFailed(errClosed, true)
}

// runOnce runs the server until it ends, and returns why.
func (s *Server) runOnce() error {
	s.setStarting()
	p, o, err := s.connect()
	if err != nil {
		return err
	}
	defer p.close(s.shutdownCtx)
	s.setReady(p, o)
	for {
		select {
		case <-s.ctx.Done():
			return errClosed
		case <-p.done():
			return p.err()
		case <-p.changed():
			s.refreshTools(p)
		}
	}
}

// connect connects to the server and lists its tools.
func (s *Server) connect() (peer, toolList, error) {
	late := fmt.Errorf("no answer within %s", s.options.Handshake)
	ctx, cancel := context.WithTimeoutCause(s.ctx, s.options.Handshake, late)
	defer cancel()
	p, err := s.dial(ctx)
	if err != nil {
		return nil, toolList{}, err
	}
	o, err := p.list(ctx)
	if err != nil {
		p.close(s.shutdownCtx)
		return nil, toolList{}, fmt.Errorf("its tools can't be listed: %w", err)
	}
	return p, o, nil
}

// refreshTools lists the tools again. If that fails, the known ones stay.
func (s *Server) refreshTools(p peer) {
	ctx, cancel := context.WithTimeoutCause(s.ctx, s.options.Handshake, fmt.Errorf("no answer within %s", s.options.Handshake))
	defer cancel()
	o, err := p.list(ctx)
	s.mu.Lock()
	if err != nil {
		o = s.tools
		o.note = display.ClipTo("its tools have changed and can't be listed: "+err.Error(), maxShown)
	}
	same := s.tools.equal(o)
	s.tools = o
	s.mu.Unlock()
	if !same {
		s.options.Log.Info("the tools of a server have changed", "tools", len(o.specs), "note", o.note)
		s.options.OnChange()
	}
}

func (s *Server) setStarting() {
	select {
	case <-s.startNow: // of this start
	default:
	}
	s.setState(func() {
		s.state, s.isDormant = Starting, false
		s.attempts++
	})
}

func (s *Server) setReady(p peer, o toolList) {
	s.setState(func() {
		s.state, s.peer, s.tools, s.lastErr, s.wasReady, s.readySince = Ready, p, o, nil, true, time.Now()
	})
	s.options.Log.Info("a tool server is ready", "tools", len(o.specs), "note", o.note)
	s.options.OnChange()
}

func (s *Server) setFailed(err error, rests bool) {
	news := false
	s.setState(func() {
		news = s.peer != nil || s.lastErr == nil || rests
		s.state, s.peer, s.lastErr, s.isDormant = Failed, nil, err, rests
		if rests {
			s.tools = toolList{}
		}
	})
	if news && s.ctx.Err() == nil {
		s.options.Log.Warn("a tool server has failed", "error", err, "given_up", rests)
		s.options.OnChange()
	}
}

// uptime returns how long the server that has ended was ready.
func (s *Server) uptime() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.peer == nil {
		return 0
	}
	return time.Since(s.readySince)
}

// waitForRestart waits for d, or only for a request to start if onDemand.
func (s *Server) waitForRestart(d time.Duration, onDemand bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	again := timer.C
	if onDemand {
		again = nil
	}
	select {
	case <-again:
	case <-s.startNow:
	case <-s.ctx.Done():
	}
}

// setState changes the state and wakes all that wait for a change.
func (s *Server) setState(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.stateChanged)
	s.stateChanged = make(chan struct{})
}
