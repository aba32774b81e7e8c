package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"codex-bridge/bridge/store"
)

// A file of the state that was cut, wherever, is told by its name, or what it still
// holds is whole: a beginning of the log without a gap. Only what stood in the write-ahead log
// and was not yet in the database can be missing then, and a head that was noted shows it.
func TestCut(t *testing.T) {
	o := backends[0].fresh(t)
	s := open(t, o)
	if err := errors.Join(s.AddGrant(t.Context(), grant(0, "/a"), 9), s.PutBinding(t.Context(), bound(0, "t"))); err != nil {
		t.Fatal(err)
	}
	keep(t, s, 1, record("u", store.User, 0, "the pump"))
	for i := range 4 {
		if i == 2 { // two are in the database, two are not yet
			run(t, s.DB(), "PRAGMA wal_checkpoint(TRUNCATE)")
		}
		if err := s.Append(t.Context(), full()); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := s.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	least := map[string]int64{"": whole.Seq, "-wal": 2, "-shm": whole.Seq} // decisions, whatever is cut
	files := make(map[string][]byte)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if files[suffix], err = os.ReadFile(filepath.Join(o.Folder, store.DatabaseFile+suffix)); err != nil {
			t.Fatal(err)
		}
	}
	for _, cut := range []string{"", "-wal", "-shm"} {
		t.Run(store.DatabaseFile+cut, func(t *testing.T) {
			seen := make(map[string]int)
			for size := range places(len(files[cut])) {
				dir := store.Options{Folder: filepath.Join(t.TempDir(), "state")}
				if err := os.Mkdir(dir.Folder, 0o700); err != nil {
					t.Fatal(err)
				}
				for suffix, text := range files {
					if suffix == cut {
						text = text[:size]
					}
					if err := os.WriteFile(filepath.Join(dir.Folder, store.DatabaseFile+suffix), text, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				seen[afterCut(t, dir, fmt.Sprintf("%s at %d", cut, size), whole, least[cut])]++
				os.RemoveAll(dir.Folder)
			}
			t.Logf("%v", seen)
		})
	}
}

var digits = regexp.MustCompile(`[0-9]+`)

// afterCut opens what is left, and tells what came of it.
func afterCut(t *testing.T, o store.Options, name string, whole store.Head, least int64) string {
	t.Helper()
	told := func(err error) string {
		t.Helper()
		if !strings.Contains(err.Error(), filepath.Join(o.Folder, store.DatabaseFile)) || !strings.Contains(err.Error(), "; ") {
			t.Errorf("%s: the error names no file or no mend: %v", name, err)
		}
		return digits.ReplaceAllString(strings.ReplaceAll(err.Error(), o.Folder, "…"), "N")
	}
	s, err := store.Open(t.Context(), o)
	if err != nil {
		return told(err)
	}
	defer s.Close()
	head, err := s.Verify(t.Context())
	var broken *store.BrokenError
	switch {
	case errors.As(err, &broken):
		t.Errorf("%s: %v", name, err)
	case err != nil:
		return told(err)
	}
	if head.Seq < least {
		t.Errorf("%s: there are %d decisions, and nobody is told that others are missing", name, head.Seq)
	}
	if err := s.Holds(t.Context(), whole); head != whole && err == nil || head == whole && err != nil {
		t.Errorf("%s: of the head that was noted Holds says %v, and there are %d", name, err, head.Seq)
	}
	if why := others(t, s); why != nil {
		return told(why)
	}
	later := full()
	later.Thread = "later"
	if err := s.Append(t.Context(), later); err != nil {
		return told(err)
	}
	if after, err := s.Verify(t.Context()); err != nil || after.Seq != head.Seq+1 {
		t.Errorf("%s: after one more %v, %v", name, after, err)
	}
	if head == whole {
		return "all is there"
	}
	return fmt.Sprintf("the first %d are there", head.Seq)
}

// others are what else was kept before the cut. It is there, or its absence is an error.
func others(t *testing.T, s *store.Store) error {
	t.Helper()
	ids, err := s.Grants(t.Context())
	if err != nil {
		return err
	}
	bound, err := s.Bindings(t.Context(), 9)
	if err != nil {
		return err
	}
	said, err := s.Records(t.Context(), "t", "")
	if err != nil {
		return err
	}
	if len(ids) != 1 || len(bound) != 1 || len(said) != 1 {
		t.Errorf("%s: %d grants, %d bindings, %d records", s.Where(), len(ids), len(bound), len(said))
	}
	return nil
}

// places are where a file of a size is cut: on both sides of what the format has a meaning for,
// and some more; the wide form takes every byte of the first five pages, and every 13th behind.
func places(size int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for n := range size {
			near := func(every, first int) bool { d := (n - first + every + 1) % every; return d <= 2 }
			if wide() && (n < 5*4096 || n%13 == 0) || n < 40 && n%3 == 0 || near(4096, 0) && n%8192 < 5 || near(4096+24, 32) || n%4999 == 0 {
				if !yield(n) {
					return
				}
			}
		}
	}
}
