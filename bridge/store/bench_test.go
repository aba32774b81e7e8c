package store_test

import (
	"fmt"
	"testing"

	"codex-bridge/bridge/store"
)

// BenchmarkAppend is one decision, on disk.
func BenchmarkAppend(b *testing.B) {
	for _, backend := range backends {
		b.Run(backend.name, func(b *testing.B) {
			s := open(b, backend.fresh(b))
			for b.Loop() {
				if err := s.Append(b.Context(), full()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkVerify walks 100,000 decisions.
func BenchmarkVerify(b *testing.B) {
	const count = 100_000
	for _, backend := range backends {
		b.Run(backend.name, func(b *testing.B) {
			s := open(b, backend.fresh(b))
			fill(b, s, count)
			for b.Loop() {
				if head, err := s.Verify(b.Context()); err != nil || head.Seq != count {
					b.Fatal(head, err)
				}
			}
		})
	}
}

// fill writes what Append would write, in one transaction.
func fill(b *testing.B, s *store.Store, count int) {
	b.Helper()
	tx, err := s.DB().BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	for e, err := range store.Chain(full(), count) {
		if err != nil {
			b.Fatal(err)
		}
		if _, err := tx.ExecContext(b.Context(), store.Insert, e...); err != nil {
			b.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkBinding looks one of 100,000 sessions up.
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
				one := bound(i, fmt.Sprint("t", i))
				if _, err := tx.ExecContext(b.Context(), `INSERT INTO bindings (session, thread, record, action, reason, before, mode, updated)
					VALUES ($1, $2, $3, 'started', 'notBound', '', '', $4)`,
					one.Session, one.Thread, one.Record, one.Updated.Format(store.StampForm)); err != nil {
					b.Fatal(err)
				}
			}
			if err := tx.Commit(); err != nil {
				b.Fatal(err)
			}
			n := 0
			for b.Loop() {
				n = (n + 7919) % count
				one, found, err := s.BindingOf(b.Context(), fmt.Sprint("s", n))
				if err != nil || !found || one.Thread != fmt.Sprint("t", n) {
					b.Fatal(one, found, err)
				}
			}
		})
	}
}
