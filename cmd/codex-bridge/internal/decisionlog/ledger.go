// Package decisionlog writes decisions to the state of this machine, and sends them to a fleet log.
package decisionlog

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/internal/core"
	"codex-bridge.example/relay/approvals"
	"codex-bridge.example/relay/fleet"
)

// Log writes decisions to the decision log. It opens the state with the first decision, so
// that a conversation without one creates no state. After a failure it tries again. While the log is
// away, refusals are kept; see decision.Backlog. Its methods may be called concurrently.
type Log struct {
	*core.Log
	url string
	log *slog.Logger

	opening chan struct{} // holds a value while no goroutine opens the store
	mu      sync.Mutex
	opened  *store.Store
	shipper *fleet.Shipper // nil: no fleet log
}

// New returns a Log that opens the state of a configuration.
func New(cfg *config.Config) *Log {
	l := &Log{url: cfg.Store.URL, log: configured.Logger(cfg), opening: make(chan struct{}, 1)}
	l.opening <- struct{}{}
	l.Log = core.NewLog(configured.Setup.Secrets(cfg), l.write, l.log)
	return l
}

// write writes one decision to the store.
func (l *Log) write(ctx context.Context, d decision.Record) error {
	s, err := l.Store(ctx)
	if err != nil {
		return err
	}
	defer l.wakeShipper()
	return s.Append(ctx, d)
}

// SetGate implements guard.GateRecord.
func (l *Log) SetGate(ctx context.Context, thread string, gated bool, known, roots string) error {
	s, err := l.Store(ctx)
	if err != nil {
		return err
	}
	return s.SetGate(ctx, thread, gated, known, roots)
}

// Gate implements guard.GateRecord.
func (l *Log) Gate(ctx context.Context, thread string) (gated bool, known, roots string, found bool, err error) {
	s, err := l.Store(ctx)
	if err != nil {
		return false, "", "", false, err
	}
	return s.Gate(ctx, thread)
}

// DeleteGate implements guard.GateRecord.
func (l *Log) DeleteGate(ctx context.Context, thread string) error {
	s, err := l.Store(ctx)
	if err != nil {
		return err
	}
	return s.DeleteGate(ctx, thread)
}

func (l *Log) wakeShipper() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shipper != nil {
		l.shipper.Wake()
	}
}

// Grants implements core.State: it is store, for the remembered approvals.
func (l *Log) Grants(ctx context.Context) (approvals.Store, error) {
	s, err := l.Store(ctx)
	if err != nil {
		return nil, err // not a nil *store.Store in an interface
	}
	return s, nil
}

// Store returns the open store. It waits for another goroutine that opens it until ctx ends.
func (l *Log) Store(ctx context.Context) (*store.Store, error) {
	if s := l.Current(); s != nil {
		return s, nil
	}
	select {
	case <-l.opening:
	case <-ctx.Done():
		return nil, fmt.Errorf("the state can't be opened: %w", context.Cause(ctx))
	}
	defer func() { l.opening <- struct{}{} }()
	if s := l.Current(); s != nil {
		return s, nil
	}
	folder, err := statefolder.Path()
	if err != nil {
		return nil, fmt.Errorf("can't find the state folder: %w", err)
	}
	s, err := store.Open(ctx, store.Options{Folder: folder, URL: l.url})
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.opened = s
	l.mu.Unlock()
	return s, nil
}

// Current returns the store; nil if it is not open.
func (l *Log) Current() *store.Store {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.opened
}

// Close closes the ledger within core.StateGrace.
func (l *Log) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), core.StateGrace)
	defer cancel()
	return l.Shutdown(ctx)
}

// Shutdown writes the kept decisions, sends the rest to the fleet log, within FleetGrace, and closes the state, if it was
// opened. It does not wait after the end of ctx.
func (l *Log) Shutdown(ctx context.Context) error {
	l.Log.Close(ctx)
	l.mu.Lock()
	shipper := l.shipper
	l.shipper = nil
	l.mu.Unlock()
	if shipper != nil {
		ctx, cancel := context.WithTimeout(ctx, FleetGrace)
		defer cancel()
		shipper.Close(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened == nil {
		return nil
	}
	return l.opened.Close()
}
