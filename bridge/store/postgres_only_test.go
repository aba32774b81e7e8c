//go:build linux

package store_test

import (
	"strings"
	"testing"
	"time"

	"codex-bridge/bridge/store"
)

func TestAppendFailsPostgres(t *testing.T) {
	s := open(t, postgresDatabase(t))
	s.DB().SetMaxOpenConns(1) // the session that is set up is the one that writes
	breaking(t, s, "SET default_transaction_read_only = on", "SET default_transaction_read_only = off", "read-only")
}

// A session that the server ended does not end the log.
func TestSessionEnds(t *testing.T) {
	o := postgresDatabase(t)
	s, other := open(t, o), open(t, o)
	for range 3 {
		if err := s.Append(t.Context(), full()); err != nil {
			t.Fatal(err)
		}
		run(t, other.DB(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		for i := 0; ; i++ {
			if err := s.Append(t.Context(), full()); err == nil {
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

// The server's own setting would acknowledge a commit before it is on disk.
func TestDurable(t *testing.T) {
	o := postgresDatabase(t)
	s := open(t, o)
	run(t, s.DB(), "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET synchronous_commit = off'; END $$")
	s = open(t, o)
	var got string
	if err := s.DB().QueryRowContext(t.Context(), "SHOW synchronous_commit").Scan(&got); err != nil || got != "on" {
		t.Errorf("synchronous_commit = %q, %v", got, err)
	}
}

// A bridge needs no more than to insert and to select, once the tables are there.
func TestFewRights(t *testing.T) {
	o := postgresDatabase(t)
	owner := open(t, o)
	run(t, owner.DB(), "DROP ROLE IF EXISTS few; CREATE ROLE few LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC; GRANT SELECT, INSERT ON decisions, transcript TO few; GRANT SELECT ON schema_version TO few")
	few := open(t, store.Options{URL: strings.Replace(o.URL, "bridge@", "few@", 1)})
	for range 2 {
		if err := few.Append(t.Context(), full()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := few.DB().ExecContext(t.Context(), "DELETE FROM decisions"); err == nil {
		t.Error("it may delete, too")
	}
	if head, err := few.Verify(t.Context()); err != nil || head.Seq != 2 {
		t.Error(head, err)
	}
	keep(t, few, 1, record("u", store.User, 0, "the pump"))
	keep(t, few, 0, record("u", store.User, 0, "the pump"))
	if got := find(t, few, store.Search{Query: "pump"}); len(got) != 1 {
		t.Errorf("found %q", got)
	}
	if _, err := few.Purge(t.Context(), noon.Add(time.Hour)); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("Purge says %v", err)
	}
}

// Several logs in one database, each in a schema of its own.
func TestSchemaOfItsOwn(t *testing.T) {
	o := postgresDatabase(t)
	public := open(t, o)
	run(t, public.DB(), "CREATE SCHEMA editors")
	own := open(t, store.Options{URL: o.URL + "&search_path=editors"})
	for range 2 {
		if err := own.Append(t.Context(), full()); err != nil {
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
