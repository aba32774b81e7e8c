package server_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge/relay/tools"
	"codex-bridge/relay/tools/server"
)

// dialer is a server of which a test decides how it starts.
type dialer struct {
	starts  []time.Time
	changes int
	next    func(ctx context.Context) (*server.Fake, error)
}

func (d *dialer) server() *server.Server {
	return server.NewFake(server.Options{Name: "fake", OnChange: func() { d.changes++ }},
		func(ctx context.Context) (*server.Fake, error) {
			d.starts = append(d.starts, time.Now())
			return d.next(ctx)
		})
}

func broken(context.Context) (*server.Fake, error) { return nil, errors.New("broken") }

func alive(context.Context) (*server.Fake, error) {
	return &server.Fake{Tools: []string{"a"}, Gone: make(chan struct{})}, nil
}

// mortal lives for some time.
func mortal(life time.Duration) func(context.Context) (*server.Fake, error) {
	return func(context.Context) (*server.Fake, error) {
		f := &server.Fake{Tools: []string{"a"}, Gone: make(chan struct{})}
		time.AfterFunc(life, func() { close(f.Gone) })
		return f, nil
	}
}

func run(s *server.Server) string {
	r, err := s.Run(context.Background(), tools.Call{Name: "a"})
	if err != nil {
		return err.Error()
	}
	return r.Content[0].Text
}

func status(t *testing.T, s *server.Server, want server.Status) {
	t.Helper()
	synctest.Wait()
	want.Name = "fake"
	if got := s.Status(); got != want {
		t.Errorf("%+v, not %+v", got, want)
	}
}

// A server that can't be started is tried ever more seldom, and then no more, until
// somebody needs it.
func TestGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialer{next: broken}
		s := d.server()
		defer s.Close(t.Context())
		if got := s.Specs(); got != nil || time.Since(d.starts[0]) != 0 {
			t.Error(got)
		}
		if got := run(s); got != `tool server "fake": broken` { // which has it tried at once
			t.Error(got)
		}
		time.Sleep(24 * time.Hour)
		status(t, s, server.Status{State: server.Failed, Restarts: 11, Error: "broken"})
		first, last := d.starts[0], d.starts[11]
		if took := last.Sub(first); took < 30*time.Second || took > 3*time.Minute {
			t.Errorf("tried for %s", took)
		}
		if d.changes != 2 { // that it is broken, and that it is given up
			t.Errorf("told %d times", d.changes)
		}
		d.next = alive
		if got := s.Specs(); got != nil {
			t.Error(got)
		}
		synctest.Wait()
		if got := s.Specs(); len(got) != 1 {
			t.Error(got)
		}
		status(t, s, server.Status{State: server.Ready, Tools: 1, Restarts: 12})
	})
}

// One that starts and dies again and again is given up, too; a call starts it.
func TestDiesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialer{next: mortal(time.Second)}
		s := d.server()
		defer s.Close(t.Context())
		s.Start()
		time.Sleep(24 * time.Hour)
		status(t, s, server.Status{State: server.Failed, Restarts: 11, Error: "it has died"})
		if got := run(s); got != "called" {
			t.Error(got)
		}
		d.next = broken
		time.Sleep(24 * time.Hour)
		if got := run(s); got != `tool server "fake": broken` {
			t.Error(got)
		}
		if len(d.starts) != 14 {
			t.Errorf("%d starts", len(d.starts))
		}
	})
}

// One that dies now and then is not.
func TestDiesNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialer{next: mortal(2 * time.Minute)}
		s := d.server()
		defer s.Close(t.Context())
		s.Start()
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if got := len(d.starts); got < 24*60/3 {
			t.Errorf("%d starts", got)
		}
		if got := s.Specs(); len(got) != 1 {
			t.Error(got)
		}
	})
}

// A thread does not wait for ever for a server that is slow.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(life time.Duration) func(ctx context.Context) (*server.Fake, error) {
			return func(ctx context.Context) (*server.Fake, error) {
				select {
				case <-time.After(life):
					return alive(ctx)
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
			}
		}
		d := &dialer{next: slow(30 * time.Second)}
		s := d.server()
		defer s.Close(t.Context())
		began := time.Now()
		if got := s.Specs(); got != nil || time.Since(began) != 5*time.Second {
			t.Error(got, time.Since(began))
		}
		if got := s.Specs(); got != nil || time.Since(began) != 5*time.Second {
			t.Error(got, time.Since(began))
		}
		status(t, s, server.Status{State: server.Starting})
		if got := run(s); got != "called" || time.Since(began) != 30*time.Second { // a call does
			t.Error(got, time.Since(began))
		}

		late := &dialer{next: slow(time.Hour)}
		s = late.server()
		defer s.Close(t.Context())
		began = time.Now()
		if got := run(s); got != `tool server "fake": no answer within 1m0s` || time.Since(began) != time.Minute {
			t.Error(got, time.Since(began))
		}
	})
}

// A call does not outlive its context, and is told why.
func TestImpatient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialer{next: func(ctx context.Context) (*server.Fake, error) { <-ctx.Done(); return nil, context.Cause(ctx) }}
		s := d.server()
		defer s.Close(t.Context())
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("late"))
		defer cancel()
		_, err := s.Run(ctx, tools.Call{Name: "a"})
		if err == nil || err.Error() != `tool server "fake": it is not ready: late` {
			t.Error(err)
		}
	})
}

// There is a bound to what a server offers.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range 600 {
			names = append(names, fmt.Sprint("t", i))
		}
		names[1] = strings.Repeat("é", 20_000)
		d := &dialer{next: func(context.Context) (*server.Fake, error) { return &server.Fake{Tools: names}, nil }}
		s := d.server()
		defer s.Close(t.Context())
		specs := s.Specs()
		if len(specs) != 512 || len(specs[1].Description) > 17_000 || !strings.HasSuffix(specs[1].Description, "é …") {
			t.Error(len(specs), len(specs[1].Description))
		}
		status(t, s, server.Status{State: server.Ready, Tools: 512, Error: "88 of its 600 tools are left out: 512 are offered at most"})
	})
}
