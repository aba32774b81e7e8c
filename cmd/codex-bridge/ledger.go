package main

import (
	"context"
	"fmt"
	"sync"
	"unicode/utf8"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/relay/approvals"
	"codex-bridge.example/relay/fleet"
	"codex-bridge.example/relay/redact"
)

// ledger writes decisions to the decision log. It opens the state with the first decision, so
// that a conversation without one creates no state. After a failure it tries again with the
// next decision. Its methods may be called concurrently.
type ledger struct {
	url      string
	redactor redact.Redactor

	mu      sync.Mutex
	opened  *store.Store
	shipper *fleet.Shipper // nil: no fleet log
}

func newLedger(cfg *config.Config) *ledger {
	return &ledger{url: cfg.Store.URL, redactor: redact.New(redact.Limits{Text: maxReason}, secrets(cfg)...)}
}

const (
	maxReason = 2 << 20 // characters of a reason that are kept
	maxPart   = 4000    // bytes of a reason in one decision; the store truncates longer ones
)

// Append implements guard.Recorder. It redacts secrets in the reason and the facts. It records the reason of
// a user's approval in full, in several entries if needed.
func (l *ledger) Append(ctx context.Context, d store.Decision) error {
	s, err := l.store(ctx)
	if err != nil {
		return err
	}
	defer l.wakeShipper()
	d.Reason = l.redactor.Text(d.Reason)
	d.Facts = l.redactor.Facts(d.Facts)
	if d.Rule != approvals.RulePerson {
		return s.Append(ctx, d)
	}
	parts := split(d.Reason, maxPart)
	for i, part := range parts {
		if d.Reason = part; len(parts) > 1 {
			d.Reason = fmt.Sprintf("(%d/%d) %s", i+1, len(parts), part)
		}
		if err := s.Append(ctx, d); err != nil {
			return err
		}
		d.Facts = "" // the first entry has them
	}
	return nil
}

func (l *ledger) wakeShipper() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shipper != nil {
		l.shipper.Wake()
	}
}

// split cuts a text between characters into parts of at most size bytes. It returns at least
// one part.
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
	if l.opened != nil {
		return l.opened, nil
	}
	folder, err := store.Folder()
	if err != nil {
		return nil, fmt.Errorf("can't find the state folder: %w", err)
	}
	l.opened, err = store.Open(ctx, store.Options{Folder: folder, URL: l.url})
	return l.opened, err
}

// Close sends the rest to the fleet log, within fleetGrace, and closes the state, if it was opened.
func (l *ledger) Close() error {
	l.mu.Lock()
	shipper := l.shipper
	l.shipper = nil
	l.mu.Unlock()
	if shipper != nil {
		ctx, cancel := context.WithTimeout(context.Background(), fleetGrace)
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
