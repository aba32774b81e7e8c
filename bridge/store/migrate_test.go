package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"codex-bridge/bridge/store"
)

// All who open an empty database at once find it made.
func TestOpenTogether(t *testing.T) {
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
				if err := s.Append(t.Context(), full()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s := open(t, o)
		if head, err := s.Verify(t.Context()); err != nil || head.Seq != 10 || s.Version() != 5 {
			t.Error(head, s.Version(), err)
		}
		var rows int
		if err := s.DB().QueryRowContext(t.Context(), "SELECT count(*) FROM schema_version").Scan(&rows); err != nil || rows != s.Version() {
			t.Errorf("%d rows of versions, %v", rows, err)
		}
	})
}

// A database of a newer version is left alone.
func TestNewerVersion(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		run(t, s.DB(), "INSERT INTO schema_version (version) VALUES (99)")
		s.Close()
		for _, o.ReadOnly = range []bool{false, true} {
			_, err := store.Open(t.Context(), o)
			var newer *store.VersionError
			if !errors.As(err, &newer) || newer.Got != 99 || newer.Known != 5 {
				t.Errorf("Open says %v", err)
			}
		}
	})
}

// Records that were kept with the schema 4 are searched with the index of the schema 5.
func TestSearchIndexIsRebuilt(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		keep(t, s, 1, record("u", store.User, 0, "the pump"))
		schema4 := []string{
			"DROP TRIGGER transcript_inserted", "DROP TRIGGER transcript_deleted", "DROP TABLE transcript_words",
			"CREATE VIRTUAL TABLE transcript_words USING fts5 (words, facets, content = '', contentless_delete = 1, tokenize = 'unicode61')",
		}
		if o.URL != "" {
			schema4 = []string{
				"ALTER TABLE transcript DROP COLUMN words", "ALTER TABLE transcript ADD COLUMN words TSVECTOR NOT NULL DEFAULT ''",
				"CREATE INDEX transcript_words ON transcript USING gin (words)",
			}
		}
		for _, statement := range append(schema4, "DELETE FROM schema_version WHERE version = 5") {
			run(t, s.DB(), statement)
		}
		s.Close()

		o.ReadOnly = true
		if _, err := open(t, o).Find(t.Context(), store.Search{Query: "pump"}); err == nil || !strings.Contains(err.Error(), "earlier version") {
			t.Errorf("Find in the schema 4: %v", err)
		}
		o.ReadOnly = false
		s = open(t, o)
		keep(t, s, 1, record("u", store.User, 1, "another pump"))
		if got := find(t, s, store.Search{Query: "pump"}); len(got) != 2 {
			t.Errorf("found %q", got)
		}
	})
}

// Reading makes nothing, writes nothing and leaves nothing.
func TestReadOnly(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		o.ReadOnly = true
		if _, err := store.Open(t.Context(), o); !errors.Is(err, store.ErrNone) {
			t.Fatalf("without state Open says %v", err)
		}
		if o.URL == "" {
			if _, err := os.Lstat(o.Folder); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("it made the folder: %v", err)
			}
			if err := os.Mkdir(o.Folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Open(t.Context(), o); !errors.Is(err, store.ErrNone) {
				t.Errorf("in an empty folder Open says %v", err)
			}
		}
		o.ReadOnly = false
		w := open(t, o)
		if err := w.Append(t.Context(), full()); err != nil {
			t.Fatal(err)
		}
		w.Close()
		before := listing(t, o.Folder)
		o.ReadOnly = true
		s := open(t, o)
		if err := s.Append(t.Context(), full()); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("Append says %v", err)
		}
		if head, err := s.Verify(t.Context()); err != nil || head.Seq != 1 {
			t.Error(head, err)
		}
		s.Close()
		if after := listing(t, o.Folder); after != before {
			t.Errorf("the folder has %s, and had %s", after, before)
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
		all += " " + filepath.Base(name) + ":" + store.Sum(text)
	}
	return all
}

// What is no database is told, and kept.
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
			t.Error("it opened")
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != text {
		t.Errorf("the file is now %q, %v", got, err)
	}
}

// What a decision's being on disk depends on.
func TestPragmas(t *testing.T) {
	s := open(t, backends[0].fresh(t))
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		var got string
		if err := s.DB().QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %s, %v; want %s", pragma, got, err, want)
		}
	}
}
