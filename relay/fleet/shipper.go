package fleet

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v5"

	"codex-bridge.example/bridge/store"
)

const (
	// gatherTime is about how long a decision waits for others after a quiet time.
	gatherTime = time.Second
	// interval is about the time between two connections of a bridge. Ten thousand bridges then make some
	// 150 connections a second.
	interval = time.Minute
	// firstPause and maxPause are about the shortest and the longest pause after failures.
	firstPause, maxPause = 15 * time.Second, 5 * time.Minute
	// busyPoll is the pause at the end of the bridge while another process ships.
	busyPoll = 50 * time.Millisecond
)

// Options configure a Shipper.
type Options struct {
	// Open returns the local log, or store.ErrNotExist if there is none yet.
	Open   func(context.Context) (Log, error)
	Sink   Sink
	Sender Sender
	Log    *slog.Logger
}

// Shipper ships a log in the background: what earlier processes have left, and new entries. It keeps no
// entry in memory but those of one batch. After a failure it waits, longer each time.
type Shipper struct {
	o       Options
	wake    chan struct{}
	closing chan struct{}
	cancel  context.CancelFunc
	done    chan struct{}
	failing bool // the failure is reported
}

// Start starts a Shipper. The caller must call Close.
func Start(o Options) *Shipper {
	s := &Shipper{o: o, wake: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go s.run(ctx)
	return s
}

// Wake says that the log has a new entry. It does not wait.
func (s *Shipper) Wake() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// Close ships the rest until ctx ends, unless the last attempt failed. It must be called once.
func (s *Shipper) Close(ctx context.Context) {
	close(s.closing)
	defer context.AfterFunc(ctx, s.cancel)()
	<-s.done
	s.cancel()
}

// run ships until Close.
func (s *Shipper) run(ctx context.Context) {
	defer close(s.done)
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.Multiplier, pause.MaxInterval = firstPause, 2, maxPause
	wait, failed := around(gatherTime), false
	var next time.Time // of the next connection
	for ctx.Err() == nil {
		closing := s.rest(wait)
		if closing && failed {
			return
		}
		sent, err := s.ship(ctx)
		var busy *BusyError
		switch {
		case err == nil:
			if sent {
				next = time.Now().Add(around(interval))
			}
			pause.Reset()
			if s.idle() {
				return
			}
			failed, wait = false, max(around(gatherTime), time.Until(next))
		case errors.As(err, &busy):
			failed, wait = false, around(gatherTime)
			if closing { // the other process may not have seen the last entries
				select {
				case <-ctx.Done():
				case <-time.After(busyPoll):
				}
			}
		default:
			failed, wait = true, pause.NextBackOff()
		}
	}
}

// around returns a random time, so that many bridges do not connect at once.
func around(d time.Duration) time.Duration {
	return d/2 + rand.N(d) //nolint:gosec // no secret
}

// rest waits, but not longer than until Close. It reports whether Close was called.
func (s *Shipper) rest(wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-s.closing:
		return true
	case <-timer.C:
		return false
	}
}

// idle waits for the next entry. It reports whether there is none until Close.
func (s *Shipper) idle() bool {
	select {
	case <-s.wake:
		return false
	case <-s.closing:
	}
	select {
	case <-s.wake: // before Close
		return false
	default:
		return true
	}
}

// ship ships once, and reports whether it had something to send. It logs the first of several failures, and the
// success after them.
func (s *Shipper) ship(ctx context.Context) (sent bool, err error) {
	log, err := s.o.Open(ctx)
	if errors.Is(err, store.ErrNotExist) {
		return false, nil
	}
	var r Result
	if err == nil {
		r, err = Ship(ctx, log, s.o.Sink, s.o.Sender, false)
	}
	if busy := (*BusyError)(nil); ctx.Err() != nil || errors.As(err, &busy) {
		return false, err
	}
	if r.Lost > 0 {
		s.o.Log.Warn("the fleet log had lost decisions that it had acknowledged, and gets them again; its database may be a restored copy", "fleet", s.o.Sink.Location(), "decisions", r.Lost)
	}
	switch {
	case err == nil && s.failing:
		s.failing = false
		s.o.Log.Info("decisions reach the fleet log again", "fleet", s.o.Sink.Location())
	case err != nil && !s.failing:
		s.failing = true
		s.o.Log.Warn("decisions can't be sent to the fleet log; they stay in the local log until they can", "error", err)
	}
	return r.Acknowledged > 0, err
}
