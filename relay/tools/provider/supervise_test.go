package provider_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge.example/relay/tools"
	"codex-bridge.example/relay/tools/provider"
)

// fakeDialer is a server whose starts a test controls.
type fakeDialer struct {
	starts  []time.Time
	changes int
	next    func(ctx context.Context) (*provider.Fake, error)
}

func (d *fakeDialer) server() *provider.Server {
	return provider.NewFake(provider.ServerOptions{Name: "fake", OnChange: func() { d.changes++ }},
		func(ctx context.Context) (*provider.Fake, error) {
			d.starts = append(d.starts, time.Now())
			return d.next(ctx)
		})
}

func dialBroken(context.Context) (*provider.Fake, error) { return nil, errors.New("broken") }

func dialAlive(context.Context) (*provider.Fake, error) {
	return &provider.Fake{Tools: []string{"a"}, Gone: make(chan struct{})}, nil
}

// dialForAWhile connects to a server that lives for some time.
func dialForAWhile(life time.Duration) func(context.Context) (*provider.Fake, error) {
	return func(context.Context) (*provider.Fake, error) {
		f := &provider.Fake{Tools: []string{"a"}, Gone: make(chan struct{})}
		time.AfterFunc(life, func() { close(f.Gone) })
		return f, nil
	}
}

func runFake(s *provider.Server) string {
	r, err := s.Run(context.Background(), tools.Call{Name: "a"})
	if err != nil {
		return err.Error()
	}
	return r.Content[0].Text
}

func checkStatus(t *testing.T, s *provider.Server, want provider.Status) {
	t.Helper()
	synctest.Wait()
	want.Name = "fake"
	if got := s.Status(); got != want {
		t.Errorf("%+v, not %+v", got, want)
	}
}

// A server that can't be started is tried less and less often, and finally only on demand.
func TestFailingServerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDialer{next: dialBroken}
		s := d.server()
		defer s.Close(t.Context())
		if got := s.Specs(); got != nil || time.Since(d.starts[0]) != 0 {
			t.Error(got)
		}
		if got := runFake(s); got != `tool server "fake": broken` { // which starts it at once
			t.Error(got)
		}
		time.Sleep(24 * time.Hour)
		checkStatus(t, s, provider.Status{State: provider.Failed, Restarts: 11, Error: "broken"})
		first, last := d.starts[0], d.starts[11]
		if took := last.Sub(first); took < 30*time.Second || took > 3*time.Minute {
			t.Errorf("tried for %s", took)
		}
		if d.changes != 2 { // one for the failure, one for giving up
			t.Errorf("told %d times", d.changes)
		}
		d.next = dialAlive
		if got := s.Specs(); got != nil {
			t.Error(got)
		}
		synctest.Wait()
		if got := s.Specs(); len(got) != 1 {
			t.Error(got)
		}
		checkStatus(t, s, provider.Status{State: provider.Ready, Tools: 1, Restarts: 12})
	})
}

// A server that keeps dying is given up too; a call starts it.
func TestServerThatKeepsDyingIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDialer{next: dialForAWhile(time.Second)}
		s := d.server()
		defer s.Close(t.Context())
		s.Start()
		time.Sleep(24 * time.Hour)
		checkStatus(t, s, provider.Status{State: provider.Failed, Restarts: 11, Error: "it has died"})
		if got := runFake(s); got != "called" {
			t.Error(got)
		}
		d.next = dialBroken
		time.Sleep(24 * time.Hour)
		if got := runFake(s); got != `tool server "fake": broken` {
			t.Error(got)
		}
		synctest.Wait() // a start that failed for this call is not tried again for it
		if len(d.starts) != 14 {
			t.Errorf("%d starts", len(d.starts))
		}
	})
}

// A server that dies rarely is not given up.
func TestServerThatRarelyDiesIsRestarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDialer{next: dialForAWhile(2 * time.Minute)}
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

// A thread waits for a slow server only up to Startup.
func TestSlowServerDelaysThreadsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(life time.Duration) func(ctx context.Context) (*provider.Fake, error) {
			return func(ctx context.Context) (*provider.Fake, error) {
				select {
				case <-time.After(life):
					return dialAlive(ctx)
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
			}
		}
		d := &fakeDialer{next: slow(30 * time.Second)}
		s := d.server()
		defer s.Close(t.Context())
		began := time.Now()
		if got := s.Specs(); got != nil || time.Since(began) != 5*time.Second {
			t.Error(got, time.Since(began))
		}
		if got := s.Specs(); got != nil || time.Since(began) != 5*time.Second {
			t.Error(got, time.Since(began))
		}
		checkStatus(t, s, provider.Status{State: provider.Starting})
		if got := runFake(s); got != "called" || time.Since(began) != 30*time.Second { // a call waits
			t.Error(got, time.Since(began))
		}

		late := &fakeDialer{next: slow(time.Hour)}
		s = late.server()
		defer s.Close(t.Context())
		began = time.Now()
		if got := runFake(s); got != `tool server "fake": no answer within 1m0s` || time.Since(began) != time.Minute {
			t.Error(got, time.Since(began))
		}
	})
}

// A call ends with its context and returns the cause.
func TestCallEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDialer{next: func(ctx context.Context) (*provider.Fake, error) { <-ctx.Done(); return nil, context.Cause(ctx) }}
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

func TestNumberOfToolsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range 600 {
			names = append(names, fmt.Sprint("t", i))
		}
		names[1] = strings.Repeat("é", 20_000)
		d := &fakeDialer{next: func(context.Context) (*provider.Fake, error) { return &provider.Fake{Tools: names}, nil }}
		s := d.server()
		defer s.Close(t.Context())
		specs := s.Specs()
		if len(specs) != 512 || len(specs[1].Description) > 17_000 || !strings.HasSuffix(specs[1].Description, "é …") {
			t.Error(len(specs), len(specs[1].Description))
		}
		checkStatus(t, s, provider.Status{State: provider.Ready, Tools: 512, Error: "88 of its 600 tools are left out: 512 are offered at most"})
	})
}
