package fleet_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/relay/fleet"
)

// envChild makes this test program a bridge; see runBridge.
const envChild = "FLEET_TEST_CHILD"

// envWide makes the tests of kills and load take minutes.
const envWide = "CODEX_BRIDGE_WIDE"

func wide() bool { return os.Getenv(envWide) != "" }

func TestMain(m *testing.M) {
	if os.Getenv(envChild) != "" {
		os.Exit(runBridge())
	}
	if !wide() { // each check starts with empty tables, which takes PostgreSQL a third of a second
		_ = flag.Set("rapid.checks", "25")
	}
	goleak.VerifyTestMain(cleanedUp{m})
}

// cleanedUp are tests after which the cleanups run.
type cleanedUp struct{ m *testing.M }

func (c cleanedUp) Run() int {
	code := c.m.Run()
	for _, stop := range cleanups {
		if err := stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// cleanups run after all tests.
var cleanups []func() error

var sender = fleet.Sender{Host: "host", User: "user"}

// localLog is the log of a virtual bridge, in memory.
type localLog struct {
	chain string

	mu       sync.Mutex
	entries  []store.Sealed
	shipping map[string]store.Shipping
	held     *store.Holder // another process ships
	added    []time.Time   // when the entries were added
	lags     []time.Duration
}

func newLocalLog() *localLog {
	id := make([]byte, 16)
	_, _ = rand.Read(id)
	return &localLog{chain: hex.EncodeToString(id), shipping: make(map[string]store.Shipping)}
}

// seal returns the next entry after others.
func seal(after []store.Sealed, reason string) store.Sealed {
	head := decision.NoHead
	if len(after) > 0 {
		head = after[len(after)-1].Head
	}
	content := fmt.Appendf(nil, `{"client":"zed","facts":"{}","fields":["a"],"method":"turn/start","previous":%q,"reason":%q,"seq":%d,"time":"2026-03-01T09:30:00.123456Z","verdict":"deny"}`,
		head.Hash, reason, head.Seq+1)
	return store.Sealed{Head: decision.Head{Seq: head.Seq + 1, Hash: decision.Sum(content)}, Content: content}
}

func (l *localLog) add(reasons ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, reason := range reasons {
		l.entries = append(l.entries, seal(l.entries, reason))
		l.added = append(l.added, time.Now())
	}
}

func (l *localLog) Chain(context.Context) (string, error) { return l.chain, nil }

func (l *localLog) SealedAfter(_ context.Context, head decision.Head, count, size int) ([]store.Sealed, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if head.Seq > int64(len(l.entries)) {
		return nil, &decision.BrokenError{Seq: head.Seq, Problem: decision.Missing}
	}
	if head.Seq > 0 && l.entries[head.Seq-1].Head != head {
		return nil, &decision.BrokenError{Seq: head.Seq, Problem: decision.Changed}
	}
	var batch []store.Sealed
	for _, e := range l.entries[head.Seq:] {
		if len(batch) == count || size <= 0 {
			break
		}
		batch = append(batch, e)
		size -= len(e.Content)
	}
	return batch, nil
}

func (l *localLog) Shipping(_ context.Context, target string) (store.Shipping, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p, ok := l.shipping[target]; ok {
		return p, nil
	}
	return store.Shipping{Head: decision.NoHead}, nil
}

func (l *localLog) SetShipping(_ context.Context, target string, p store.Shipping) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for seq := l.shipping[target].Seq; seq < p.Seq; seq++ {
		l.lags = append(l.lags, time.Since(l.added[seq]))
	}
	l.shipping[target] = p
	return nil
}

func (l *localLog) AcquireLease(_ context.Context, session string, _ store.Holder, _ time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held != nil {
		return &store.HeldError{Session: session, Holder: *l.held}
	}
	return nil
}

func (l *localLog) ReleaseLease(context.Context, string, store.Holder) error { return nil }

// memorySink is a fleet log in memory that fails as a test wants.
type memorySink struct {
	mu     sync.Mutex // held during Send; a test holds it where a shipper may send meanwhile
	chains map[string][]store.Sealed
	before func(fleet.Batch) error // an error: nothing of the batch arrives
	after  func(fleet.Batch) error // an error: the acknowledgement is lost
	sizes  []int                   // of the batches
	closed int
}

func newMemorySink() *memorySink { return &memorySink{chains: make(map[string][]store.Sealed)} }

func (m *memorySink) Location() string { return "memory" }
func (m *memorySink) Close()           { m.closed++ }

// failFrom makes each Send fail from now on, if err is not nil.
func (m *memorySink) failFrom(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = func(fleet.Batch) error { return err }
}

// attempts returns how many batches have been sent.
func (m *memorySink) attempts() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.sizes)
}

func (m *memorySink) Send(_ context.Context, b fleet.Batch) (decision.Head, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sizes = append(m.sizes, len(b.Entries))
	if m.before != nil {
		if err := m.before(b); err != nil {
			return decision.Head{}, err
		}
	}
	all := m.chains[b.Chain]
	head := func() decision.Head {
		if len(all) == 0 {
			return decision.NoHead
		}
		return all[len(all)-1].Head
	}
	for _, e := range b.Entries {
		switch n := int64(len(all)); {
		case e.Seq > n+1:
			return head(), nil
		case e.Seq <= n && all[e.Seq-1].Hash != e.Hash:
			return head(), &fleet.ForkError{Location: "memory", Chain: b.Chain, Problem: "other hash"}
		case e.Seq == n+1:
			all = append(all, e)
		}
	}
	m.chains[b.Chain] = all
	if m.after != nil {
		if err := m.after(b); err != nil {
			return decision.Head{}, err
		}
	}
	return head(), nil
}

// entriesOf returns the entries of chains as a fleet log has them, ordered by chain.
func entriesOf(chains map[string][]store.Sealed) []fleet.Entry {
	var all []fleet.Entry
	for chain, entries := range chains {
		for _, e := range entries {
			all = append(all, fleet.Entry{Chain: chain, Sealed: e})
		}
	}
	slices.SortStableFunc(all, func(a, b fleet.Entry) int {
		switch {
		case a.Chain < b.Chain:
			return -1
		case a.Chain > b.Chain:
			return 1
		}
		return 0
	})
	return all
}

// sequence returns entries as Verify reads them.
func sequence(entries []fleet.Entry) iter.Seq2[fleet.Entry, error] {
	return func(yield func(fleet.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func chainOf(n int) []store.Sealed {
	l := newLocalLog()
	for i := range n {
		l.add(fmt.Sprint(l.chain, i))
	}
	return l.entries
}

var errAway = errors.New("the fleet log is away")
