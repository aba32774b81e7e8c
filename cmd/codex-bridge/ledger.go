package main

import (
	"context"
	"fmt"
	"sync"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/store"
	"codex-bridge/relay/redact"
)

// ledger opens the state with the first decision that has to be written: a
// conversation in which policy changes nothing makes none. One that can't be
// opened is tried again with the next.
type ledger struct {
	url      string
	redactor redact.Redactor

	mu   sync.Mutex
	open *store.Store
}

func newLedger(cfg *config.Config) *ledger {
	return &ledger{url: cfg.Store.URL, redactor: redact.New(redact.Limits{}, secrets(cfg)...)}
}

// Append implements guard.Recorder. The reason may quote what was asked for, with its
// secrets.
func (l *ledger) Append(ctx context.Context, d store.Decision) error {
	s, err := l.store(ctx)
	if err != nil {
		return err
	}
	d.Reason = l.redactor.Text(d.Reason)
	return s.Append(ctx, d)
}

func (l *ledger) store(ctx context.Context) (*store.Store, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open != nil {
		return l.open, nil
	}
	folder, err := store.Folder()
	if err != nil {
		return nil, fmt.Errorf("the state folder is not known: %w", err)
	}
	l.open, err = store.Open(ctx, store.Options{Folder: folder, URL: l.url})
	return l.open, err
}

// Close closes the state, if it was opened.
func (l *ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		return nil
	}
	return l.open.Close()
}
