package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
)

// Processes that open an empty database at once migrate it once.
func TestConcurrentOpenMigratesOnce(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				s, err := store.Open(t.Context(), o)
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				if err := s.Append(t.Context(), testDecision()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s := open(t, o)
		if head, err := s.Verify(t.Context()); err != nil || head.Seq != 10 {
			t.Error(head, s.Version(), err)
		}
		var rows int
		if err := s.DB().QueryRowContext(t.Context(), "SELECT count(*) FROM schema_version").Scan(&rows); err != nil || rows != s.Version()-5 { // one for each step, from 6 on
			t.Errorf("schema_version has %d rows, %v", rows, err)
		}
	})
}

// Open refuses a database of a newer version, or of a build before the first release.
func TestOpenRefusesOtherVersions(t *testing.T) {
	for version, hint := range map[int]string{99: "update codex-bridge", 5: "move it away"} {
		onEach(t, func(t *testing.T, o store.Options) {
			s := open(t, o)
			known := s.Version()
			execSQL(t, s.DB(), fmt.Sprintf("UPDATE schema_version SET version = %d", version))
			s.Close()
			for _, o.ReadOnly = range []bool{false, true} {
				_, err := store.Open(t.Context(), o)
				var other *store.VersionError
				if !errors.As(err, &other) || other.Got != version || other.Known != known || !strings.Contains(err.Error(), hint) {
					t.Errorf("version %d: Open returned %v", version, err)
				}
			}
		})
	}
}

// A database of schema 6, whose decisions have no facts, is read without a change, and is valid after the migration,
// also for a fleet log.
func TestMigrateFromFirstSchema(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		d := testDecision()
		d.Facts = ""
		for range 2 {
			if err := s.Append(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		addRecords(t, s, 2, testRecord("u", store.User, 0, "pump"), testRecord("u", store.User, 300, "pump"))
		before, err := s.Verify(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		execSQL(t, s.DB(), "ALTER TABLE decisions DROP COLUMN facts")
		for _, table := range []string{"desk_requests", "desk_answers", "chain", "shipping", "gates"} {
			execSQL(t, s.DB(), "DROP TABLE IF EXISTS "+table)
		}
		dropIndexes(t, s, o)
		execSQL(t, s.DB(), "DELETE FROM schema_version WHERE version > 6")
		s.Close()

		check := func(s *store.Store, count int) {
			t.Helper()
			if got := find(t, s, store.SearchOptions{Query: "pump", Since: noon.Add(time.Minute)}); len(got) != 1 {
				t.Errorf("schema %d: found %q", s.Version(), got)
			}
			if head, err := s.Verify(t.Context()); err != nil || head.Seq != int64(count) || count == 2 && head != before {
				t.Errorf("schema %d: %v, %v; the head was %v", s.Version(), head, err, before)
			}
			for e, err := range s.Decisions(t.Context(), store.Filter{}) {
				if err != nil || (e.Facts != "") != (e.Seq > 2) {
					t.Errorf("schema %d: decision %d has the facts %q, %v", s.Version(), e.Seq, e.Facts, err)
				}
			}
			sealed, err := s.SealedAfter(t.Context(), decision.NoHead, 10, 1<<20)
			if err != nil || len(sealed) != count {
				t.Fatalf("schema %d: %d sealed entries, %v", s.Version(), len(sealed), err)
			}
			for _, e := range sealed {
				if decision.Sum(e.Content) != e.Hash || strings.Contains(string(e.Content), `"facts"`) != (e.Seq > 2) {
					t.Errorf("schema %d: decision %d: %s", s.Version(), e.Seq, e.Content)
				}
			}
		}
		o.ReadOnly = true
		old := open(t, o)
		if old.Version() != 6 {
			t.Errorf("opened read-only, it has schema %d", old.Version())
		}
		check(old, 2)

		o.ReadOnly = false
		s = open(t, o)
		check(s, 2)
		d.Facts = `{"user":"ada"}`
		if err := s.Append(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		check(s, 3)
		check(old, 3) // the reader that was open during the migration
	})
}

// dropIndexes undoes the migrations 10 and 11.
func dropIndexes(t *testing.T, s *store.Store, o store.Options) {
	t.Helper()
	execSQL(t, s.DB(), "DROP INDEX grants_expires; DROP INDEX grants_workspace")
	if o.URL == "" {
		execSQL(t, s.DB(), "DROP TRIGGER transcript_hour; DROP TABLE transcript_hours")
	}
}

// A read-only store creates and writes no file.
func TestReadOnly(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		o.ReadOnly = true
		if _, err := store.Open(t.Context(), o); !errors.Is(err, store.ErrNotExist) {
			t.Fatalf("without a state Open returned %v", err)
		}
		if o.URL == "" {
			if _, err := os.Lstat(o.Folder); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("Open created the folder: %v", err)
			}
			if err := os.Mkdir(o.Folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Open(t.Context(), o); !errors.Is(err, store.ErrNotExist) {
				t.Errorf("in an empty folder Open returned %v", err)
			}
		}
		o.ReadOnly = false
		w := open(t, o)
		if err := w.Append(t.Context(), testDecision()); err != nil {
			t.Fatal(err)
		}
		w.Close()
		before := listing(t, o.Folder)
		o.ReadOnly = true
		s := open(t, o)
		if err := s.Append(t.Context(), testDecision()); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("Append returned %v", err)
		}
		if head, err := s.Verify(t.Context()); err != nil || head.Seq != 1 {
			t.Error(head, err)
		}
		s.Close()
		if after := listing(t, o.Folder); after != before {
			t.Errorf("the folder has %s, want %s", after, before)
		}
	})
}

func listing(t *testing.T, folder string) string {
	t.Helper()
	if folder == "" {
		return ""
	}
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all += " " + filepath.Base(name) + ":" + decision.Sum(text)
	}
	return all
}

// Open returns an error for a file that is not a database, and does not change it.
func TestNotADatabase(t *testing.T) {
	o := backends[0].fresh(t)
	if err := os.MkdirAll(o.Folder, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(o.Folder, store.DatabaseFile)
	const text = "a letter of mine, and longer than the header of a database, which has a hundred bytes or so of its own."
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o.ReadOnly = range []bool{false, true} {
		if s, err := store.Open(t.Context(), o); err == nil {
			s.Close()
			t.Error("Open succeeded")
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != text {
		t.Errorf("the file changed to %q, %v", got, err)
	}
}

// The pragmas that durability depends on.
func TestPragmas(t *testing.T) {
	s := open(t, backends[0].fresh(t))
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		var got string
		if err := s.DB().QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %s, %v; want %s", pragma, got, err, want)
		}
	}
}
