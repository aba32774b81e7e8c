package decision_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge.example/bridge/decision"
)

// switchedLog is a log that can be away.
type switchedLog struct {
	mu      sync.Mutex
	away    bool
	entries []decision.Record
}

func (l *switchedLog) write(ctx context.Context, d decision.Record) error {
	if l.set(nil, &d) {
		return nil
	}
	<-ctx.Done()
	return errors.New("locked")
}

// set changes whether the log is away, or adds an entry. It reports whether the log is there.
func (l *switchedLog) set(away *bool, d *decision.Record) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if away != nil {
		l.away = *away
	}
	if d != nil && !l.away {
		l.entries = append(l.entries, *d)
	}
	return !l.away
}

func refused(n int) decision.Record {
	return decision.Record{Method: fmt.Sprint("m", n), Verdict: "deny", CanWait: true}
}

// Refusals wait for a log that is away: the first one for two seconds, later ones not. They are
// written in order when the log is back, before a decision that needs its entry.
func TestBacklogWritesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, yes, no := &switchedLog{}, true, false
		b := decision.NewBacklog(log.write, slog.New(slog.DiscardHandler))
		log.set(&yes, nil)
		start := time.Now()
		for n := range 100 {
			if err := b.Keep(t.Context(), refused(n)); err != nil {
				t.Error(err)
			}
		}
		if waited := time.Since(start); waited != 2*time.Second {
			t.Errorf("100 refusals waited %s", waited)
		}
		if err := b.Append(t.Context(), decision.Record{Method: "needed"}); err == nil || time.Since(start) != 12*time.Second {
			t.Errorf("a decision that needs its entry: error %v after %s", err, time.Since(start))
		}
		log.set(&no, nil)
		if err := b.Append(t.Context(), decision.Record{Method: "later"}); err != nil {
			t.Error(err)
		}
		if n := len(log.entries); n != 101 || log.entries[100].Method != "later" {
			t.Fatalf("%d entries", n)
		}
		for n, d := range log.entries[:100] {
			if d.Method != fmt.Sprint("m", n) {
				t.Errorf("entry %d is %s", n, d.Method)
			}
		}
		if err := b.Keep(t.Context(), refused(7)); err != nil || len(log.entries) != 102 || b.Close(t.Context()) != 0 {
			t.Errorf("afterwards: error %v, %d entries", err, len(log.entries))
		}
	})
}

// Decisions without room are counted in the log, at their place.
func TestBacklogCountsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, yes, no := &switchedLog{}, true, false
		b := decision.NewBacklog(log.write, slog.New(slog.DiscardHandler))
		log.set(&yes, nil)
		for n := range 10_360 {
			if err := b.Keep(t.Context(), refused(n)); err != nil {
				t.Fatal(err)
			}
		}
		log.set(&no, nil)
		if lost := b.Close(t.Context()); lost != 0 {
			t.Errorf("%d decisions are lost", lost)
		}
		last := log.entries[len(log.entries)-1]
		if n := len(log.entries); n != 10_001 || last.Verdict != decision.VerdictMissing || !strings.HasPrefix(last.Reason, "360 decisions, made from 2") {
			t.Errorf("%d entries; the last is %+v", n, last)
		}
	})
}

// At the end the number of decisions that the log lacks is known. A decision that no log takes stops no
// later one.
func TestBacklogIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, yes := &switchedLog{}, true
		b := decision.NewBacklog(log.write, slog.New(slog.DiscardHandler))
		log.set(&yes, nil)
		for n := range 3 {
			if err := b.Keep(t.Context(), refused(n)); err != nil {
				t.Error(err)
			}
		}
		if err := b.Keep(t.Context(), decision.Record{Message: "content"}); err == nil {
			t.Error("an invalid decision is kept")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if lost := b.Close(ctx); lost != 3 {
			t.Errorf("%d decisions are lost", lost)
		}
		time.Sleep(time.Minute) // the goroutine ends
	})
}

// At the end no write of a kept decision goes on: it would hold the database, and so the end.
func TestBacklogEndsItsWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, yes := &switchedLog{}, true
		log.set(&yes, nil)
		writes := make(chan error, 2)
		b := decision.NewBacklog(func(ctx context.Context, d decision.Record) error {
			err := log.write(ctx, d)
			writes <- context.Cause(ctx)
			return err
		}, slog.New(slog.DiscardHandler))
		if err := b.Keep(t.Context(), refused(1)); err != nil {
			t.Fatal(err)
		}
		if err := <-writes; !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the first write ended by %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		if lost := b.Close(ctx); lost != 1 {
			t.Errorf("%d decisions are lost", lost)
		}
		if err := <-writes; !errors.Is(err, context.Canceled) || time.Since(start) != 3*time.Second {
			t.Errorf("the write ended by %v after %s", err, time.Since(start))
		}
	})
}
