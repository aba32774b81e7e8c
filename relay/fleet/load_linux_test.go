package fleet_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"codex-bridge.example/relay/fleet"
)

// Many bridges ship to one database, each with its own connections. In its wide form, of ten minutes, the test has
// 10,000 bridges with 500 decisions a second together, and a bridge's log in memory.
func TestLoad(t *testing.T) {
	bridges, duration := 300, 3*time.Second
	if wide() {
		bridges, duration = 10_000, 10*time.Minute
	}
	const rate = 500
	d, url := newDatabase(t)
	warnings := &countingHandler{}
	logs, sinks, shippers := make([]*localLog, bridges), make([]*fleet.Database, bridges), make([]*fleet.Shipper, bridges)
	for i := range bridges {
		log := newLocalLog()
		logs[i], sinks[i] = log, openDatabase(t, url)
		shippers[i] = fleet.Start(fleet.Options{
			Open: func(context.Context) (fleet.Log, error) { return log, nil }, Sink: sinks[i], Sender: sender, Log: slog.New(warnings),
		})
	}
	start, decisions := time.Now(), 0
	ticks := time.NewTicker(10 * time.Millisecond)
	for now := range ticks.C {
		for due := int(now.Sub(start).Seconds() * rate); decisions < due; decisions++ {
			i := rand.IntN(bridges)
			logs[i].add("a decision of usual length, with the reason for which it was refused: danger-full-access is more than workspace-write")
			shippers[i].Wake()
		}
		if now.Sub(start) > duration {
			break
		}
	}
	ticks.Stop()
	sent := time.Since(start)
	acknowledged := 0
	for _, log := range logs {
		log.mu.Lock()
		acknowledged += len(log.lags)
		log.mu.Unlock()
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	var ends errgroup.Group
	ends.SetLimit(20) // the bridges do not end at once
	for i, s := range shippers {
		ends.Go(func() error {
			s.Close(t.Context())
			// A bridge whose last attempt failed leaves the rest to the next one.
			for try := 0; ; try++ {
				if _, err := fleet.Ship(t.Context(), logs[i], sinks[i], sender, false); err == nil || try == 20 {
					return err
				}
				time.Sleep(rand.N(time.Second))
			}
		})
	}
	if err := ends.Wait(); err != nil {
		t.Error(err)
	}
	var lags []time.Duration
	for _, log := range logs {
		lags = append(lags, log.lags...)
	}
	slices.Sort(lags)
	if len(lags) != decisions || !has(t, d, logs...) {
		t.Errorf("%d of %d decisions are acknowledged, or the fleet log differs", len(lags), decisions)
	}
	before := time.Now()
	c, err := fleet.Verify(d.Entries(t.Context()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Decisions != int64(decisions) {
		t.Fatalf("%d decisions verified", c.Decisions)
	}
	verified := time.Since(before)
	t.Logf("%d bridges, %d decisions in %v: %.0f a second, %d acknowledged by then; from decision to acknowledgement %v in the middle, %v for 99 of 100, %v at most; %d warnings; heap %d MiB; verified in %v",
		bridges, decisions, sent.Round(time.Second), float64(decisions)/sent.Seconds(), acknowledged, lags[len(lags)/2].Round(time.Millisecond),
		lags[len(lags)*99/100].Round(time.Millisecond), lags[len(lags)-1].Round(time.Millisecond), warnings.count(), memory.HeapInuse>>20, verified.Round(time.Millisecond))
}

// countingHandler counts log records.
type countingHandler struct {
	slog.Handler
	mu sync.Mutex
	n  int
}

func (h *countingHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h *countingHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *countingHandler) Handle(context.Context, slog.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n++
	return nil
}

func (h *countingHandler) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.n
}
