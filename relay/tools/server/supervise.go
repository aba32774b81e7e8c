package server

import (
	"context"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	// calm is how long a server has to live for its earlier deaths to be forgotten.
	calm = time.Minute
	// patience is how often in a row a server is started without anybody needing it:
	// for a minute and a half.
	patience = 12
)

// supervise starts the server, again and again, until the Server is closed.
func (s *Server) supervise() {
	defer close(s.done)
	pause := backoff.NewExponentialBackOff() // half a second at first, half as much more each time
	pause.MaxInterval = 30 * time.Second
	deaths := 0
	for s.life.Err() == nil {
		err := s.attempt()
		if lived := s.lived(); lived > calm {
			pause.Reset()
			deaths = 0
		}
		deaths++
		s.failed(err, deaths >= patience)
		s.rest(pause.NextBackOff(), deaths >= patience)
	}
	s.failed(errClosed, true)
}

// attempt is one life of the server; the error is how it ended.
func (s *Server) attempt() error {
	s.starting()
	p, o, err := s.connect()
	if err != nil {
		return err
	}
	defer p.close(s.grace)
	s.born(p, o)
	for {
		select {
		case <-s.life.Done():
			return errClosed
		case <-p.gone():
			return p.reason()
		case <-p.changed():
			s.renew(p)
		}
	}
}

// connect starts the server and asks for its tools.
func (s *Server) connect() (peer, offer, error) {
	late := fmt.Errorf("no answer within %s", s.o.Handshake)
	ctx, cancel := context.WithTimeoutCause(s.life, s.o.Handshake, late)
	defer cancel()
	p, err := s.dial(ctx)
	if err != nil {
		return nil, offer{}, err
	}
	o, err := p.list(ctx)
	if err != nil {
		p.close(s.grace)
		return nil, offer{}, fmt.Errorf("its tools can't be listed: %w", err)
	}
	return p, o, nil
}

// renew asks for the tools again. What was known stays when that fails.
func (s *Server) renew(p peer) {
	ctx, cancel := context.WithTimeoutCause(s.life, s.o.Handshake, fmt.Errorf("no answer within %s", s.o.Handshake))
	defer cancel()
	o, err := p.list(ctx)
	s.mu.Lock()
	if err != nil {
		o = s.offer
		o.note = clip("its tools have changed and can't be listed: "+err.Error(), maxSaid)
	}
	same := s.offer.equal(o)
	s.offer = o
	s.mu.Unlock()
	if !same {
		s.o.Log.Info("the tools of a server have changed", "tools", len(o.specs), "note", o.note)
		s.o.OnChange()
	}
}

func (s *Server) starting() {
	select {
	case <-s.kick: // for this start
	default:
	}
	s.move(func() {
		s.state, s.rests = Starting, false
		s.attempts++
	})
}

func (s *Server) born(p peer, o offer) {
	s.move(func() {
		s.state, s.peer, s.offer, s.err, s.alive, s.birth = Ready, p, o, nil, true, time.Now()
	})
	s.o.Log.Info("a tool server is ready", "tools", len(o.specs), "note", o.note)
	s.o.OnChange()
}

func (s *Server) failed(err error, rests bool) {
	news := false
	s.move(func() {
		news = s.peer != nil || s.err == nil || rests
		s.state, s.peer, s.err, s.rests = Failed, nil, err, rests
		if rests {
			s.offer = offer{}
		}
	})
	if news && s.life.Err() == nil {
		s.o.Log.Warn("a tool server has failed", "error", err, "given_up", rests)
		s.o.OnChange()
	}
}

// lived is how long the server that just ended was there.
func (s *Server) lived() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.peer == nil {
		return 0
	}
	return time.Since(s.birth)
}

// rest waits until the server is to be started again: d, or until it is needed.
func (s *Server) rest(d time.Duration, needed bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	again := timer.C
	if needed {
		again = nil
	}
	select {
	case <-again:
	case <-s.kick:
	case <-s.life.Done():
	}
}

// move changes the state and tells who waits for that.
func (s *Server) move(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.moved)
	s.moved = make(chan struct{})
}
