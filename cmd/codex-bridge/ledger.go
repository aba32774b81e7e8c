package main

import (
	"context"
	"fmt"
	"sync"
	"unicode/utf8"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/store"
	"codex-bridge/relay/approvals"
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
	return &ledger{url: cfg.Store.URL, redactor: redact.New(redact.Limits{Text: longReason}, secrets(cfg)...)}
}

const (
	longReason = 2 << 20 // characters of a reason that are kept, at least
	partLength = 4000    // bytes of a reason in one decision; the store cuts longer ones
)

// Append implements guard.Recorder. The reason may quote what was asked for, with its
// secrets. A person's consent is recorded whole: a reason that is too long for one
// entry continues in the next.
func (l *ledger) Append(ctx context.Context, d store.Decision) error {
	s, err := l.store(ctx)
	if err != nil {
		return err
	}
	d.Reason = l.redactor.Text(d.Reason)
	if d.Rule != approvals.RulePerson {
		return s.Append(ctx, d)
	}
	parts := split(d.Reason, partLength)
	for i, part := range parts {
		if d.Reason = part; len(parts) > 1 {
			d.Reason = fmt.Sprintf("(%d/%d) %s", i+1, len(parts), part)
		}
		if err := s.Append(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// split cuts a text into parts of at most size bytes, between characters. There is one part at
// least.
func split(text string, size int) (parts []string) {
	for len(text) > size {
		end := size
		for end > size-utf8.UTFMax && !utf8.RuneStart(text[end]) {
			end--
		}
		parts, text = append(parts, text[:end]), text[end:]
	}
	return append(parts, text)
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
