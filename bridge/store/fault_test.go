package store_test

import (
	"database/sql"
	"strings"
	"testing"

	"codex-bridge.example/bridge/store"
)

// After an error of Append the log is complete, and the next Append works.
func TestAppendRecoversFromErrors(t *testing.T) {
	for _, tt := range []struct {
		name, breaks, fix, want string
	}{
		{"disk full", "PRAGMA max_page_count = 1", "PRAGMA max_page_count = 1000000", "full"},
		{"read-only", "PRAGMA query_only = 1", "PRAGMA query_only = 0", "readonly"},
	} {
		t.Run(tt.name, func(t *testing.T) { testBrokenDatabase(t, open(t, backends[0].fresh(t)), tt.breaks, tt.fix, tt.want) })
	}
}

func testBrokenDatabase(t *testing.T, s *store.Store, breaks, fix, want string) {
	long := testDecision()
	long.Reason = strings.Repeat("x", 4096) // needs its own page
	for range 3 {
		if err := s.Append(t.Context(), long); err != nil {
			t.Fatal(err)
		}
	}
	execSQL(t, s.DB(), breaks)
	var err error
	for range 3 {
		if err = s.Append(t.Context(), long); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), s.Location()) {
			t.Fatalf("with %q Append returned %v", breaks, err)
		}
	}
	execSQL(t, s.DB(), fix)
	if err := s.Append(t.Context(), long); err != nil {
		t.Fatal(err)
	}
	if head, err := s.Verify(t.Context()); err != nil || head.Seq != 4 {
		t.Error(head, err)
	}
}

func execSQL(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// A deleted table is an error; Append does not create it again.
func TestAppendWithoutTable(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		execSQL(t, s.DB(), "DROP TABLE decisions")
		if err := s.Append(t.Context(), testDecision()); err == nil {
			t.Error("Append returned no error without its table")
		}
		if _, err := s.Verify(t.Context()); err == nil {
			t.Error("Verify returned no error without its table")
		}
	})
}
