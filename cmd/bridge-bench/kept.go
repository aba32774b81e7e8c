//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"codex-bridge/bridge/search"
	"codex-bridge/bridge/store"
)

// streamLoad is 2 GiB of notifications.
const streamLoad = "stream"

// captured measures a long stream that is kept: nobody waits for what writes, and its memory
// does not grow. It takes long, so that it is measured once.
func (b *bench) captured(n int) error {
	if n > 0 {
		return nil
	}
	l, err := newLoad(streamLoad, b.short)
	if err != nil {
		return err
	}
	file := filepath.Join(b.dir, "captured.toml")
	text := "[policy]\nmode = \"enforce\"\n[trace]\nenabled = true\nmax_file = \"8GiB\"\n[transcript]\nenabled = true\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	state := filepath.Join(b.dir, "captured")
	env := append(b.env(streamLoad), "CODEX_BRIDGE_CONFIG="+file, "CODEX_BRIDGE_STATE="+state, "CODEX_BRIDGE_LOG=error")
	c, err := b.ours(pipes, env)
	if err != nil {
		return err
	}
	p, err := c.pass(l, true)
	if err != nil {
		c.kill()
		return err
	}
	info, err := os.Stat(filepath.Join(state, "traces", thread+".jsonl"))
	if err != nil {
		return err
	}
	const title = "a stream of 2 GiB, with trace and transcript"
	b.add(row{key: "captured/memory", title: title, what: "memory over idle", unit: "MiB", goal: 64, atMost: true,
		note: "highest RSS less that before the load; 32 MiB may wait to be written"}, mib(p.peak-p.idle))
	b.add(row{key: "captured/speed", title: title, what: "passes at", unit: "MB/s", free: true,
		note: "the trace has %.0f MB; what came faster than it could be written is counted there"}, float64(l.size())/1e6/p.took.Seconds(), float64(info.Size())/1e6)
	return os.RemoveAll(state)
}

// searches are what is looked for among many records.
var searches = []struct {
	key, what, text string
	search          store.Search
}{
	{"everywhere", "a word that is in all of them", "pump", store.Search{}},
	{"rare", "a word that is in each thousandth", "rare77", store.Search{}},
	{"two", "both", "pump rare77", store.Search{}},
	{"prefix", "the beginning of a word", "rare7*", store.Search{}},
	{"thread", "the first, in one of 1,000 threads", "pump", store.Search{Thread: "t123"}},
	{"phrase", "a phrase that is in all of them", `"fails now"`, store.Search{}},
}

// history measures a search among 1,000,000 records. They are made once.
func (b *bench) history(n int) (err error) {
	const count = 1_000_000
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{Folder: filepath.Join(b.dir, "history")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if n == 0 {
		if err := b.fillHistory(ctx, s, count); err != nil {
			return err
		}
	}
	for _, one := range searches {
		one.search.Query, err = search.Parse(one.text)
		if err != nil {
			return err
		}
		var took []float64
		for range 5 {
			began := time.Now()
			found, err := s.Find(ctx, one.search)
			if err != nil {
				return err
			}
			if len(found) == 0 {
				return fmt.Errorf("%q is not found", one.text)
			}
			took = append(took, ms(time.Since(began)))
		}
		b.add(row{key: "history/" + one.key, title: "search among 1,000,000 records", what: one.what, unit: "ms", goal: 100, atMost: true, note: "SQLite"},
			median(took))
	}
	return nil
}

func (b *bench) fillHistory(ctx context.Context, s *store.Store, count int) error {
	const batch = 10_000
	began := time.Now()
	for n := 0; n < count; n += batch {
		records := make([]store.Record, batch)
		for i := range records {
			records[i] = said(n + i)
		}
		if _, err := s.Keep(ctx, records); err != nil {
			return err
		}
	}
	took := time.Since(began)
	var size int64
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(s.Where() + suffix); err == nil {
			size += info.Size()
		}
	}
	b.add(row{key: "history/kept", title: "search among 1,000,000 records", what: "a record is kept in", unit: "µs", free: true,
		note: "10,000 at once; the database has %.0f MB"}, float64(took.Microseconds())/float64(count), float64(size)/1e6)
	return nil
}

// said is the n-th record of many.
func said(n int) store.Record {
	kind := []store.Kind{store.User, store.Tool, store.Tool, store.Assistant}[n%4]
	return store.Record{
		Thread: fmt.Sprint("t", n%1000), Turn: fmt.Sprint("u", n/4000), Kind: kind, Item: fmt.Sprint("i", n),
		Time: time.Unix(1_790_000_000+int64(n), 0),
		Text: fmt.Sprintf("The test of the pump in rpc/pump_test.go fails now and then, as it did in run %d of word%d. "+
			"Please find out why rare%d is lost, without making the buffer %d larger.", n, n%50_000, n%1000, n%97),
	}
}
