package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/relay/fleet"
)

func ship(t *testing.T, log fleet.Log, sink fleet.Sink) (fleet.Result, error) {
	t.Helper()
	return fleet.Ship(t.Context(), log, sink, sender, false)
}

// same reports whether the sink has exactly the local log.
func same(log *localLog, sink *memorySink) bool {
	return slices.EqualFunc(log.entries, sink.chains[log.chain], func(a, b store.Sealed) bool { return a.Head == b.Head && string(a.Content) == string(b.Content) })
}

func TestShipSendsBatches(t *testing.T) {
	log, sink := newLocalLog(), newMemorySink()
	for i := range 1234 {
		log.add(fmt.Sprint(i))
	}
	r, err := ship(t, log, sink)
	if err != nil || r.Acknowledged != 1234 || r.Head != log.entries[1233].Head || !same(log, sink) {
		t.Fatal(r, err)
	}
	if !slices.Equal(sink.sizes, []int{500, 500, 234}) || sink.closed != 1 {
		t.Errorf("batches of %v, closed %d times", sink.sizes, sink.closed)
	}
	if r, err := ship(t, log, sink); err != nil || r.Acknowledged != 0 || r.Head.Seq != 1234 || len(sink.sizes) != 3 {
		t.Errorf("without new decisions: %v, %v, batches %v", r, err, sink.sizes)
	}
	if _, err := fleet.Ship(t.Context(), log, sink, sender, true); err != nil || len(sink.sizes) != 4 {
		t.Errorf("asked: %v, batches %v", err, sink.sizes)
	}
	for range 3 {
		log.add(strings.Repeat("x", 600<<10))
	}
	sink.sizes = nil
	if _, err := ship(t, log, sink); err != nil || !slices.Equal(sink.sizes, []int{2, 1}) || !same(log, sink) {
		t.Errorf("large decisions: %v, batches of %v", err, sink.sizes)
	}
}

// After a failure, entries without an acknowledgement are sent again. Its text stays until the next success.
func TestShipAfterFailures(t *testing.T) {
	log, sink := newLocalLog(), newMemorySink()
	for i := range 700 {
		log.add(fmt.Sprint(i))
	}
	sink.before = func(b fleet.Batch) error {
		if b.After.Seq == 500 {
			return errAway
		}
		return nil
	}
	if r, err := ship(t, log, sink); !errors.Is(err, errAway) || r.Acknowledged != 500 {
		t.Error(r, err)
	}
	state, _ := log.Shipping(t.Context(), "memory")
	if state.Seq != 500 || state.Error != errAway.Error() || state.Failed.IsZero() {
		t.Errorf("after a failure: %+v", state)
	}
	sink.before, sink.after = nil, func(fleet.Batch) error { return errAway } // the acknowledgement is lost
	if _, err := ship(t, log, sink); !errors.Is(err, errAway) || !same(log, sink) {
		t.Error(err)
	}
	sink.after = nil
	if r, err := ship(t, log, sink); err != nil || r.Head.Seq != 700 || !same(log, sink) {
		t.Error(r, err)
	}
	if state, _ := log.Shipping(t.Context(), "memory"); state.Error != "" || state.Seq != 700 {
		t.Errorf("after a success: %+v", state)
	}
}

// A fleet log that was restored from a copy gets again what it had lost. A local log that does not know its
// acknowledgements does not send the same twice.
func TestShipFindsTheHead(t *testing.T) {
	log, sink := newLocalLog(), newMemorySink()
	for i := range 1500 {
		log.add(fmt.Sprint(i))
	}
	if _, err := ship(t, log, sink); err != nil {
		t.Fatal(err)
	}
	sink.chains[log.chain] = sink.chains[log.chain][:200]
	log.add("new")
	if r, err := ship(t, log, sink); err != nil || r.Lost != 1300 || r.Acknowledged != 1301 || !same(log, sink) {
		t.Error(r, err)
	}
	clear(log.shipping)
	sink.sizes = nil
	if r, err := ship(t, log, sink); err != nil || r.Head.Seq != 1501 || len(sink.sizes) != 1 {
		t.Errorf("%+v, %v, batches %v", r, err, sink.sizes)
	}
}

// Two logs with one chain are a fork: nothing is overwritten, and nothing acknowledged.
func TestShipDetectsForks(t *testing.T) {
	for name, change := range map[string]func(*localLog){
		"restored from a copy":           func(l *localLog) { l.entries = l.entries[:5] },
		"restored, and used":             func(l *localLog) { l.entries = l.entries[:5]; l.add("other") },
		"restored with acknowledgements": func(l *localLog) { l.entries = l.entries[:5]; clear(l.shipping); l.add("other") },
		"used longer than the fleet's": func(l *localLog) {
			l.entries = l.entries[:5]
			clear(l.shipping)
			l.add("a", "b", "c", "d", "e", "f", "g")
		},
		"rewritten from the start":        func(l *localLog) { l.entries = nil; clear(l.shipping); l.add("x", "y") },
		"rewritten, same acknowledgement": func(l *localLog) { l.entries = nil; l.add("0", "1", "2", "3", "4", "5", "6", "x", "y", "z", "more") },
	} {
		t.Run(name, func(t *testing.T) {
			log, sink := newLocalLog(), newMemorySink()
			for i := range 10 {
				log.add(fmt.Sprint(i))
			}
			if _, err := ship(t, log, sink); err != nil {
				t.Fatal(err)
			}
			before := slices.Clone(sink.chains[log.chain])
			change(log)
			_, err := fleet.Ship(t.Context(), log, sink, sender, true)
			var fork *fleet.ForkError
			var broken *decision.BrokenError
			if !errors.As(err, &fork) && !errors.As(err, &broken) {
				t.Errorf("Ship returned %v", err)
			}
			if !slices.EqualFunc(before, sink.chains[log.chain], func(a, b store.Sealed) bool { return a.Hash == b.Hash }) {
				t.Error("the fleet log was changed")
			}
		})
	}
}

func TestShipOnlyOneProcess(t *testing.T) {
	log, sink := newLocalLog(), newMemorySink()
	log.add("one")
	log.held = &store.Holder{PID: 7, Host: "host"}
	_, err := ship(t, log, sink)
	var busy *fleet.BusyError
	if !errors.As(err, &busy) || !strings.Contains(err.Error(), "process 7 on host") || len(sink.sizes) > 0 {
		t.Error(err, sink.sizes)
	}
	if state, _ := log.Shipping(t.Context(), "memory"); state.Error != "" {
		t.Errorf("an error is noted: %+v", state)
	}
}

// pass lets time pass, and waits for what the shipper does then.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// startShipper starts a shipper of a log. The returned text has what it logged.
func startShipper(open func(context.Context) (fleet.Log, error), sink fleet.Sink) (*fleet.Shipper, *loggedText) {
	logged := new(loggedText)
	return fleet.Start(fleet.Options{Open: open, Sink: sink, Sender: sender, Log: slog.New(slog.NewTextHandler(logged, nil))}), logged
}

// loggedText is a text that a shipper writes while a test reads it.
type loggedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *loggedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *loggedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A shipper sends the entries of earlier processes, and soon the first entry after a quiet time. It gathers later
// entries, and sends the rest at its end.
func TestShipperGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, sink := newLocalLog(), newMemorySink()
		log.add("left", "left")
		s, _ := startShipper(func(context.Context) (fleet.Log, error) { return log, nil }, sink)
		pass(2 * time.Second)
		if !same(log, sink) {
			t.Errorf("what was left is not sent: %v", sink.sizes)
		}
		for range 2 {
			pass(2 * time.Minute)
			for range 100 {
				log.add("new")
				s.Wake()
				pass(time.Millisecond)
			}
			pass(2 * time.Second)
			if !same(log, sink) {
				t.Errorf("batches of %v", sink.sizes)
			}
		}
		for range 600 {
			log.add("more")
			s.Wake()
			pass(time.Second)
		}
		if n := len(sink.sizes); n < 3+600/90 || n > 3+600/30 {
			t.Errorf("in ten minutes %d batches: %v", n-3, sink.sizes)
		}
		log.add("last")
		s.Wake()
		s.Close(t.Context())
		if !same(log, sink) {
			t.Error("the last decision is not sent")
		}
	})
}

// After failures a shipper waits longer and longer, tells each error once, and does not hold up its end.
func TestShipperBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, sink := newLocalLog(), newMemorySink()
		log.add("one")
		sink.failFrom(errAway)
		s, logged := startShipper(func(context.Context) (fleet.Log, error) { return log, nil }, sink)
		pass(time.Hour)
		if n := sink.attempts(); n < 12 || n > 30 {
			t.Errorf("%d attempts in an hour", n)
		}
		if n := strings.Count(logged.String(), errAway.Error()); n != 1 {
			t.Errorf("the error is logged %d times:\n%s", n, logged)
		}
		sink.failFrom(nil)
		pass(10 * time.Minute)
		if !same(log, sink) || !strings.Contains(logged.String(), "again") {
			t.Errorf("not sent: %v\n%s", sink.sizes, logged)
		}
		sink.failFrom(errAway)
		log.add("two")
		s.Wake()
		pass(10 * time.Second)
		attempts, start := sink.attempts(), time.Now()
		s.Close(t.Context())
		if sink.attempts() != attempts || time.Since(start) > 0 {
			t.Error("the end waits for a fleet log that is away")
		}
	})
}

// A fleet log that hangs delays the end no longer than the caller allows.
func TestShipperEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newLocalLog()
		log.add("one")
		s, _ := startShipper(func(context.Context) (fleet.Log, error) { return log, nil }, hangingSink{newMemorySink()})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start := time.Now()
		s.Close(ctx)
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("the end took %v", took)
		}
		if state, _ := log.Shipping(t.Context(), "memory"); state.Error != "" {
			t.Errorf("the end is noted as an error: %+v", state)
		}
	})
}

type hangingSink struct{ *memorySink }

func (hangingSink) Send(ctx context.Context, _ fleet.Batch) (decision.Head, error) {
	<-ctx.Done()
	return decision.Head{}, ctx.Err()
}

// A bridge without a state has nothing to send; one whose log another process ships tries again.
func TestShipperWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, sink := newLocalLog(), newMemorySink()
		there := false
		s, logged := startShipper(func(context.Context) (fleet.Log, error) {
			if !there {
				return nil, store.ErrNotExist
			}
			return log, nil
		}, sink)
		pass(time.Minute)
		log.add("one")
		log.held = &store.Holder{PID: 7, Host: "host"}
		there = true
		s.Wake()
		pass(time.Minute)
		if len(sink.sizes) > 0 {
			t.Error("a log is shipped twice at once")
		}
		log.mu.Lock()
		log.held = nil
		log.mu.Unlock()
		pass(2 * time.Minute)
		if !same(log, sink) || logged.String() != "" {
			t.Errorf("batches of %v\n%s", sink.sizes, logged)
		}
		log.held = &store.Holder{PID: 7, Host: "host"}
		log.add("two")
		s.Wake()
		time.AfterFunc(time.Second, func() {
			log.mu.Lock()
			defer log.mu.Unlock()
			log.held = nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		s.Close(ctx)
		if !same(log, sink) {
			t.Error("the end does not wait for the other process")
		}
	})
}
