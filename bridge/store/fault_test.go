package store_test

import (
	"database/sql"
	"strings"
	"testing"

	"codex-bridge/bridge/store"
)

// A decision that can't be written is an error, and the log goes on after it
// with nothing lost and nothing half written.
func TestAppendFails(t *testing.T) {
	for _, tt := range []struct {
		name, breaks, mends, says string
	}{
		{"disk full", "PRAGMA max_page_count = 1", "PRAGMA max_page_count = 1000000", "full"},
		{"read-only", "PRAGMA query_only = 1", "PRAGMA query_only = 0", "readonly"},
	} {
		t.Run(tt.name, func(t *testing.T) { breaking(t, open(t, backends[0].fresh(t)), tt.breaks, tt.mends, tt.says) })
	}
}

func breaking(t *testing.T, s *store.Store, breaks, mends, says string) {
	long := full()
	long.Reason = strings.Repeat("x", 4096) // needs a page of its own
	for range 3 {
		if err := s.Append(t.Context(), long); err != nil {
			t.Fatal(err)
		}
	}
	run(t, s.DB(), breaks)
	var err error
	for range 3 {
		if err = s.Append(t.Context(), long); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), s.Where()) {
			t.Fatalf("with %q Append says %v", breaks, err)
		}
	}
	run(t, s.DB(), mends)
	if err := s.Append(t.Context(), long); err != nil {
		t.Fatal(err)
	}
	if head, err := s.Verify(t.Context()); err != nil || head.Seq != 4 {
		t.Error(head, err)
	}
}

func run(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// A table that somebody took away is told, not made anew.
func TestAppendWithoutTable(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		run(t, s.DB(), "DROP TABLE decisions")
		if err := s.Append(t.Context(), full()); err == nil {
			t.Error("Append wrote to no table")
		}
		if _, err := s.Verify(t.Context()); err == nil {
			t.Error("Verify found no table fine")
		}
	})
}
