package decision

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// VerdictMissing is the verdict of an entry that says how many decisions are missing in the log.
const VerdictMissing = "missing"

// Limits of what a Backlog keeps, in decisions and in bytes of their texts.
const (
	maxKept      = 10_000
	maxKeptBytes = 16 << 20
)

// writeTimeout limits the wait of a write for the log.
const writeTimeout = 10 * time.Second

// firstWait limits the wait of Keep for a log that was there at the last write.
const firstWait = 2 * time.Second

// Backlog writes decisions to a log that can be away for a time: locked, on a full disk, or behind a
// lost connection. Decisions that hold without their entry are kept in memory and written later, in
// order. One entry counts those that there was no room for. Safe for concurrent use.
type Backlog struct {
	write func(context.Context, Record) error
	log   *slog.Logger
	ctx   context.Context // of the writes of kept decisions; ends with Close
	stop  context.CancelFunc

	mu    sync.Mutex
	kept  []keptDecision // the first one is being written
	bytes int
	away  bool          // the last write has failed
	empty chan struct{} // closed when nothing is kept any more; nil: nothing is kept
}

// keptDecision is a decision, or the number of missing ones.
type keptDecision struct {
	Record
	missing      int
	since, until time.Time // of the missing ones
}

// NewBacklog returns a Backlog for a log. write returns when a decision is stored.
func NewBacklog(write func(context.Context, Record) error, log *slog.Logger) *Backlog {
	b := &Backlog{write: write, log: log}
	b.ctx, b.stop = context.WithCancel(context.Background())
	return b
}

// Append writes a decision after those that are kept. If it returns an error, the log may not have
// the decision.
func (b *Backlog) Append(ctx context.Context, d Record) error {
	b.mu.Lock()
	empty := b.empty
	b.mu.Unlock()
	if empty != nil {
		wait, cancel := context.WithTimeout(ctx, writeTimeout)
		defer cancel()
		select {
		case <-empty:
		case <-wait.Done():
			return fmt.Errorf("the decision log can't be written, and earlier decisions wait for it: %w", context.Cause(wait))
		}
	}
	err := b.write(ctx, d)
	b.mu.Lock()
	b.away = err != nil
	b.mu.Unlock()
	return err
}

// Keep writes a decision that holds without its entry. If the log is away, Keep returns at once, and
// the decision is written later. The error says why a decision can never be written.
func (b *Backlog) Keep(ctx context.Context, d Record) error {
	if _, err := NewEntry(d); err != nil {
		return err
	}
	if d.Time.IsZero() {
		d.Time = time.Now()
	}
	b.mu.Lock()
	if b.away || b.empty != nil {
		defer b.mu.Unlock()
		b.keep(d)
		return nil
	}
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, firstWait)
	defer cancel()
	err := b.write(ctx, d)
	if err == nil {
		return nil
	}
	b.log.Error("the decision log can't be written; refusals are written later", "error", err)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keep(d)
	return nil
}

// keep adds a decision, or counts it as missing. b.mu is locked.
func (b *Backlog) keep(d Record) {
	size := sizeOf(d)
	last := len(b.kept) - 1
	switch {
	case len(b.kept) < maxKept && b.bytes+size <= maxKeptBytes:
		b.kept = append(b.kept, keptDecision{Record: d})
		b.bytes += size
	case last > 0 && b.kept[last].missing > 0: // the first one is being written
		b.kept[last].missing++
		b.kept[last].until = d.Time
	default:
		b.kept = append(b.kept, keptDecision{missing: 1, since: d.Time, until: d.Time})
	}
	b.away = true
	if b.empty == nil {
		b.empty = make(chan struct{})
		go b.writeKept() // ends when nothing is kept, or by Close
	}
}

// sizeOf returns about how many bytes of memory the decision uses.
func sizeOf(d Record) int {
	size := 512 // of the struct
	for _, text := range []string{d.Client, d.Thread, d.Turn, d.Method, d.Verdict, d.Mode, d.Rule, d.Reason, d.Origin, d.Message, d.Facts} {
		size += len(text)
	}
	for _, field := range d.Fields {
		size += len(field)
	}
	return size
}

// entry returns the decision for the log.
func (k keptDecision) entry() Record {
	if k.missing == 0 {
		return k.Record
	}
	return Record{
		Method: "decision log", Verdict: VerdictMissing, Rule: "store",
		Reason: fmt.Sprintf("%d decisions, made from %s to %s, are missing: the log could not be written, and the bridge keeps %d decisions or %d MiB",
			k.missing, k.since.UTC().Format(time.RFC3339), k.until.UTC().Format(time.RFC3339), maxKept, maxKeptBytes>>20),
	}
}

// writeKept writes the kept decisions, until none is left.
func (b *Backlog) writeKept() {
	const minPause, maxPause = 50 * time.Millisecond, 2 * time.Second
	written := 0
	for pause := minPause; ; {
		b.mu.Lock()
		if len(b.kept) == 0 {
			close(b.empty)
			b.empty, b.away = nil, false
			b.mu.Unlock()
			b.log.Info("the decision log is written again", "decisions", written)
			return
		}
		next := b.kept[0]
		b.mu.Unlock()
		ctx, cancel := context.WithTimeout(b.ctx, writeTimeout)
		err := b.write(ctx, next.entry())
		cancel()
		if err == nil {
			b.mu.Lock()
			b.kept = b.kept[1:]
			if next.missing == 0 {
				b.bytes -= sizeOf(next.Record)
			}
			b.mu.Unlock()
			written++
			pause = minPause
			continue
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, maxPause)
		case <-b.ctx.Done():
			return
		}
	}
}

// Close waits until the kept decisions are written, or ctx ends. It returns how many decisions the log lacks.
func (b *Backlog) Close(ctx context.Context) (lost int) {
	defer b.stop() // a write would hold the database
	b.mu.Lock()
	empty := b.empty
	b.mu.Unlock()
	if empty == nil {
		return 0
	}
	select {
	case <-empty:
		return 0
	case <-ctx.Done():
	}
	b.stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.kept {
		lost += max(1, one.missing)
	}
	return lost
}
