//go:build linux

package store_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"codex-bridge.example/bridge/store"
	"codex-bridge.example/bridge/store/postgrestest"
)

// server is shared by the tests that need it.
var server = sync.OnceValues(func() (*postgrestest.Server, error) {
	s, err := postgrestest.Start(postgrestest.Options{})
	if err == nil {
		cleanups = append(cleanups, s.Stop)
	}
	return s, err
})

func init() { backends = append(backends, backend{"postgres", postgresDatabase}) }

func postgresDatabase(t testing.TB) store.Options {
	s, err := server()
	if err != nil {
		t.Fatal(err)
	}
	url, err := s.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return store.Options{URL: url}
}

func TestAppendRecoversFromErrorsPostgres(t *testing.T) {
	s := open(t, postgresDatabase(t))
	s.DB().SetMaxOpenConns(1) // the SET below must affect the session that writes
	testBrokenDatabase(t, s, "SET default_transaction_read_only = on", "SET default_transaction_read_only = off", "read-only")
}

// Append reconnects after the server ended the session.
func TestAppendReconnects(t *testing.T) {
	o := postgresDatabase(t)
	s, other := open(t, o), open(t, o)
	for range 3 {
		if err := s.Append(t.Context(), testDecision()); err != nil {
			t.Fatal(err)
		}
		execSQL(t, other.DB(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		for i := 0; ; i++ {
			if err := s.Append(t.Context(), testDecision()); err == nil {
				break
			} else if i == 3 {
				t.Fatal(err)
			}
		}
	}
	if _, err := s.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// The store overrides a server setting that would acknowledge commits before they are on disk.
func TestSynchronousCommitIsOn(t *testing.T) {
	o := postgresDatabase(t)
	s := open(t, o)
	execSQL(t, s.DB(), "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET synchronous_commit = off'; END $$")
	s = open(t, o)
	var got string
	if err := s.DB().QueryRowContext(t.Context(), "SHOW synchronous_commit").Scan(&got); err != nil || got != "on" {
		t.Errorf("synchronous_commit = %q, %v", got, err)
	}
}

// No search has a prepared statement: after five searches the server would use one plan for all words.
func TestSearchIsPlannedEachTime(t *testing.T) {
	s := open(t, postgresDatabase(t))
	addRecords(t, s, 1, testRecord("u", store.User, 0, "a pump fails"))
	for range 6 {
		if got := find(t, s, store.SearchOptions{Query: "pump"}); len(got) != 1 {
			t.Fatalf("found %q", got)
		}
	}
	var all, searches int
	if err := s.DB().QueryRowContext(t.Context(), "SELECT count(*), count(*) FILTER (WHERE statement LIKE $1) FROM pg_prepared_statements",
		"%websearch_to_tsquery%").Scan(&all, &searches); err != nil {
		t.Fatal(err)
	}
	if all == 0 || searches > 0 {
		t.Errorf("%d of %d prepared statements are searches", searches, all)
	}
}

// An acknowledged decision or grant is in the log of the server on disk, although its transaction does
// not wait for the disk. Other processes of the server write there too, so most calls count.
func TestAcknowledgedIsWritten(t *testing.T) {
	const calls = 20
	s := open(t, postgresDatabase(t))
	for name, write := range map[string]func(int) error{
		"Append":   func(int) error { return s.Append(t.Context(), testDecision()) },
		"AddGrant": func(n int) error { return s.AddGrant(t.Context(), testGrant(n, "/a"), calls) },
	} {
		written := 0
		for n := range calls {
			if err := write(n); err != nil {
				t.Fatal(err)
			}
			var all bool
			if err := s.DB().QueryRowContext(t.Context(), "SELECT pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn()").Scan(&all); err != nil {
				t.Fatal(err)
			}
			if all {
				written++
			}
		}
		if written < calls/2 {
			t.Errorf("%s: %d of %d calls were on disk", name, written, calls)
		}
	}
}

// With existing tables, a bridge needs only INSERT and SELECT for the log.
func TestInsertAndSelectSuffice(t *testing.T) {
	o := postgresDatabase(t)
	owner := open(t, o)
	execSQL(t, owner.DB(), "DROP ROLE IF EXISTS few; CREATE ROLE few LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC; GRANT SELECT, INSERT ON decisions, transcript TO few; GRANT SELECT ON schema_version TO few")
	few := open(t, store.Options{URL: strings.Replace(o.URL, "bridge@", "few@", 1)})
	for range 2 {
		if err := few.Append(t.Context(), testDecision()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := few.DB().ExecContext(t.Context(), "DELETE FROM decisions"); err == nil {
		t.Error("the role may delete")
	}
	if head, err := few.Verify(t.Context()); err != nil || head.Seq != 2 {
		t.Error(head, err)
	}
	addRecords(t, few, 1, testRecord("u", store.User, 0, "the pump"))
	addRecords(t, few, 0, testRecord("u", store.User, 0, "the pump"))
	if got := find(t, few, store.SearchOptions{Query: "pump"}); len(got) != 1 {
		t.Errorf("found %q", got)
	}
	if _, err := few.PurgeRecords(t.Context(), noon.Add(time.Hour)); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("PurgeRecords returned %v", err)
	}
}

// Several logs share a database, each in its own schema.
func TestSearchPathSeparatesLogs(t *testing.T) {
	o := postgresDatabase(t)
	public := open(t, o)
	execSQL(t, public.DB(), "CREATE SCHEMA editors")
	own := open(t, store.Options{URL: o.URL + "&search_path=editors"})
	for range 2 {
		if err := own.Append(t.Context(), testDecision()); err != nil {
			t.Fatal(err)
		}
	}
	if head, err := public.Verify(t.Context()); err != nil || head.Seq != 0 {
		t.Error(head, err)
	}
	var rows int
	if err := public.DB().QueryRowContext(t.Context(), "SELECT count(*) FROM editors.decisions").Scan(&rows); err != nil || rows != 2 {
		t.Errorf("%d rows, %v", rows, err)
	}
}
