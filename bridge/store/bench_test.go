package store_test

import (
	"fmt"
	"testing"
	"time"

	"codex-bridge.example/bridge/store"
)

// BenchmarkAppend appends one decision, on disk.
func BenchmarkAppend(b *testing.B) {
	for _, backend := range backends {
		b.Run(backend.name, func(b *testing.B) {
			s := open(b, backend.fresh(b))
			for b.Loop() {
				if err := s.Append(b.Context(), testDecision()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkVerify verifies 100,000 decisions.
func BenchmarkVerify(b *testing.B) {
	const count = 100_000
	for _, backend := range backends {
		b.Run(backend.name, func(b *testing.B) {
			s := open(b, backend.fresh(b))
			fillDecisions(b, s, count)
			for b.Loop() {
				if head, err := s.Verify(b.Context()); err != nil || head.Seq != count {
					b.Fatal(head, err)
				}
			}
		})
	}
}

// fillDecisions writes the rows of Append in one transaction.
func fillDecisions(b *testing.B, s *store.Store, count int) {
	b.Helper()
	tx, err := s.DB().BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	statement, args, err := s.AppendStatement(testDecision())
	if err != nil {
		b.Fatal(err)
	}
	for range count {
		if _, err := tx.ExecContext(b.Context(), statement, args...); err != nil {
			b.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkBinding looks up one of 100,000 sessions.
func BenchmarkBinding(b *testing.B) {
	const count = 100_000
	for _, backend := range backends {
		b.Run(backend.name, func(b *testing.B) {
			s := open(b, backend.fresh(b))
			tx, err := s.DB().BeginTx(b.Context(), nil)
			if err != nil {
				b.Fatal(err)
			}
			for i := range count {
				one := testBinding(i, fmt.Sprint("t", i))
				if _, err := tx.ExecContext(b.Context(), `INSERT INTO bindings (session, thread, record, action, reason, before, mode, updated)
					VALUES ($1, $2, $3, 'started', 'notBound', '', '', $4)`,
					one.Session, one.Thread, one.Record, one.Updated.Format(store.TimeLayout)); err != nil {
					b.Fatal(err)
				}
			}
			if err := tx.Commit(); err != nil {
				b.Fatal(err)
			}
			n := 0
			for b.Loop() {
				n = (n + 7919) % count
				one, found, err := s.BindingBySession(b.Context(), fmt.Sprint("s", n))
				if err != nil || !found || one.Thread != fmt.Sprint("t", n) {
					b.Fatal(one, found, err)
				}
			}
		})
	}
}

// BenchmarkFind searches 1,000,000 records: for a word in each of them, a word in a thousandth, a
// phrase, and both with filters.
func BenchmarkFind(b *testing.B) {
	const count, batch = 1_000_000, 10_000
	for _, backend := range backends {
		b.Run(backend.name, func(b *testing.B) {
			s := open(b, backend.fresh(b))
			began := time.Now()
			for n := 0; n < count; n += batch {
				records := make([]store.Record, batch)
				for i := range records {
					records[i] = benchRecord(n + i)
				}
				addRecords(b, s, batch, records...)
			}
			b.Logf("%d records written in %v", count, time.Since(began))
			for _, c := range []struct {
				name, text string
				f          store.SearchOptions
				want       int
			}{
				{"everywhere", "pump", store.SearchOptions{}, 20},
				{"rare", "rare77", store.SearchOptions{}, 20},
				{"phrase", `"fails now"`, store.SearchOptions{}, 20},
				{"two", "pump rare77", store.SearchOptions{}, 20},
				{"thread", "pump", store.SearchOptions{Thread: "t123"}, 20},
				{"kind", "pump", store.SearchOptions{Kind: store.Assistant}, 20},
				{"since", "pump", store.SearchOptions{Since: benchRecord(count - 1000).Time}, 20},
				{"never", "pump absent", store.SearchOptions{}, 0},
			} {
				c.f.Query = c.text
				b.Run(c.name, func(b *testing.B) {
					for b.Loop() {
						if got := find(b, s, c.f); len(got) != c.want {
							b.Fatalf("found %d", len(got))
						}
					}
				})
			}
		})
	}
}

// benchRecord returns the n-th record.
func benchRecord(n int) store.Record {
	kind := []store.Kind{store.User, store.Tool, store.Tool, store.Assistant}[n%4]
	return store.Record{
		Thread: fmt.Sprint("t", n%1000), Turn: fmt.Sprint("u", n/4000), Kind: kind, Item: fmt.Sprint("i", n),
		Time: noon.Add(time.Duration(n) * time.Second),
		Text: fmt.Sprintf("The test of the pump in rpc/pump_test.go fails now and then, as it did in run %d of word%d. "+
			"Please find out why rare%d is lost, without making the buffer %d larger.", n, n%50_000, n%1000, n%97),
	}
}
