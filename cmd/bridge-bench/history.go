//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/bridge-bench/internal/table"
)

// searches are the measured queries.
var searches = []struct {
	key, what, text string
	search          store.SearchOptions
}{
	{"everywhere", "a word that is in all of them", "pump", store.SearchOptions{}},
	{"rare", "a word that is in each thousandth", "rare77", store.SearchOptions{}},
	{"two", "both", "pump rare77", store.SearchOptions{}},
	{"thread", "the first, in one of 1,000 threads", "pump", store.SearchOptions{Thread: "t123"}},
	{"phrase", "a phrase that is in all of them", `"fails now"`, store.SearchOptions{}},
	{"phrase-two", "the phrase, and the word that is in each thousandth", `"fails now" rare77`, store.SearchOptions{}},
	{"kind", "the first, in what tools have said", "pump", store.SearchOptions{Kind: store.Tool}},
	{newestTenth, "the first, in the newest tenth", "pump", store.SearchOptions{}},
}

const newestTenth = "newest"

// searched is the number of records.
func (b *bench) searched() int {
	if b.short {
		return 100_000
	}
	return 1_000_000
}

// history measures a search among 1,000,000 records, and the insertion of records. It writes the
// records once, before the first round.
func (b *bench) history(n int) (err error) {
	count := b.searched()
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{Folder: filepath.Join(b.dir, "history")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if n == 0 {
		if err := fillRecords(ctx, s, count); err != nil {
			return err
		}
	}
	began := time.Now()
	if err := keepBatch(ctx, s, count+n*batch, batch); err != nil {
		return err
	}
	took := time.Since(began)
	b.table.Add(table.Row{Key: "history/kept", Title: searchTitle(count, "SQLite"), What: "insert", Unit: "µs", Note: "1,000 at once; database %.0f MB"},
		float64(took)/float64(time.Microsecond)/batch, float64(fileSize(s.Location())+fileSize(s.Location()+"-wal"))/1e6)
	return b.search(ctx, s, "history/", searchTitle(count, "SQLite"))
}

func searchTitle(count int, where string) string {
	return fmt.Sprintf("search among %s records, %s", formatThousands(count), where)
}

// search runs each of the searches a few times.
func (b *bench) search(ctx context.Context, s *store.Store, key, title string) (err error) {
	for _, one := range searches {
		if one.key == newestTenth {
			one.search.Since = benchRecord(b.searched() / 10 * 9).Time
		}
		one.search.Query = one.text
		var took, busy []float64
		for range 5 {
			before, err := cpuTime(os.Getpid())
			if err != nil {
				return err
			}
			began := time.Now()
			found, err := s.Find(ctx, one.search)
			if err != nil {
				return err
			}
			if len(found) == 0 {
				return fmt.Errorf("%q has no match", one.text)
			}
			took = append(took, ms(time.Since(began)))
			after, err := cpuTime(os.Getpid())
			if err != nil {
				return err
			}
			busy = append(busy, ms(after-before))
		}
		b.table.Add(table.Row{Key: key + one.key, Title: title, What: one.what, Unit: "ms", Goal: table.AtMost(100),
			Note: "CPU %.1f ms"}, table.Median(took), table.Median(busy))
	}
	return nil
}

// fillRecords writes the records for the searches.
func fillRecords(ctx context.Context, s *store.Store, count int) error {
	for first := 0; first < count; first += batch {
		if err := keepBatch(ctx, s, first, batch); err != nil {
			return err
		}
	}
	return nil
}

// batch is the number of records in a measured transaction, which has a deadline.
const batch = 1000

func keepBatch(ctx context.Context, s *store.Store, first, count int) error {
	records := make([]store.Record, count)
	for i := range records {
		records[i] = benchRecord(first + i)
	}
	_, err := s.AddRecords(ctx, records)
	return err
}

// fileSize returns the size of a file; 0 if it does not exist.
func fileSize(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

// benchRecord returns the n-th record.
func benchRecord(n int) store.Record {
	kind := []store.Kind{store.User, store.Tool, store.Tool, store.Assistant}[n%4]
	return store.Record{
		Thread: fmt.Sprint("t", n%1000), Turn: fmt.Sprint("u", n/4000), Kind: kind, Item: fmt.Sprint("i", n),
		Time: time.Unix(1_790_000_000+int64(n), 0),
		Text: fmt.Sprintf("The test of the pump in rpc/pump_test.go fails now and then, as it did in run %d of word%d. "+
			"Please find out why rare%d is lost, without making the buffer %d larger.", n, n%50_000, n%1000, n%97),
	}
}
