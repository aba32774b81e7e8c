package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
)

// A truncated file of the state is an error that names the file, or the rest is a start of the log
// without a gap. Only decisions that were in the write-ahead log alone may be missing then, and a
// noted head shows that.
func TestTruncatedFiles(t *testing.T) {
	o := backends[0].fresh(t)
	s := open(t, o)
	if err := errors.Join(s.AddGrant(t.Context(), testGrant(0, "/a"), 9), s.PutBinding(t.Context(), testBinding(0, "t"))); err != nil {
		t.Fatal(err)
	}
	addRecords(t, s, 1, testRecord("u", store.User, 0, "the pump"))
	for i := range 4 {
		if i == 2 { // two are in the database, two are only in the log
			execSQL(t, s.DB(), "PRAGMA wal_checkpoint(TRUNCATE)")
		}
		if err := s.Append(t.Context(), testDecision()); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := s.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	least := map[string]int64{"": whole.Seq, "-wal": 2, "-shm": whole.Seq} // the minimum number of decisions for each truncated file
	files := make(map[string][]byte)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if files[suffix], err = os.ReadFile(filepath.Join(o.Folder, store.DatabaseFile+suffix)); err != nil {
			t.Fatal(err)
		}
	}
	for _, cut := range []string{"", "-wal", "-shm"} {
		t.Run(store.DatabaseFile+cut, func(t *testing.T) {
			seen := make(map[string]int)
			for size := range truncationSizes(len(files[cut])) {
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
				seen[openTruncated(t, dir, fmt.Sprintf("%s at %d", cut, size), whole, least[cut])]++
				os.RemoveAll(dir.Folder)
			}
			t.Logf("%v", seen)
		})
	}
}

var digits = regexp.MustCompile(`[0-9]+`)

// openTruncated opens a truncated state and describes the result.
func openTruncated(t *testing.T, o store.Options, name string, whole decision.Head, least int64) string {
	t.Helper()
	checkError := func(err error) string {
		t.Helper()
		if !strings.Contains(err.Error(), filepath.Join(o.Folder, store.DatabaseFile)) || !strings.Contains(err.Error(), "; ") {
			t.Errorf("%s: the error has no file or no hint: %v", name, err)
		}
		return digits.ReplaceAllString(strings.ReplaceAll(err.Error(), o.Folder, "…"), "N")
	}
	s, err := store.Open(t.Context(), o)
	if err != nil {
		return checkError(err)
	}
	defer s.Close()
	head, err := s.Verify(t.Context())
	var broken *decision.BrokenError
	switch {
	case errors.As(err, &broken):
		t.Errorf("%s: %v", name, err)
	case err != nil:
		return checkError(err)
	}
	if head.Seq < least {
		t.Errorf("%s: no error, but only %d decisions", name, head.Seq)
	}
	if err := s.CheckHead(t.Context(), whole); head != whole && err == nil || head == whole && err != nil {
		t.Errorf("%s: CheckHead returned %v; %d decisions", name, err, head.Seq)
	}
	if why := checkOtherTables(t, s); why != nil {
		return checkError(why)
	}
	later := testDecision()
	later.Thread = "later"
	if err := s.Append(t.Context(), later); err != nil {
		return checkError(err)
	}
	if after, err := s.Verify(t.Context()); err != nil || after.Seq != head.Seq+1 {
		t.Errorf("%s: head after Append: %v, %v", name, after, err)
	}
	if head == whole {
		return "all is there"
	}
	return fmt.Sprintf("the first %d are there", head.Seq)
}

// checkOtherTables checks the other tables. Their rows exist, or reading them is an error.
func checkOtherTables(t *testing.T, s *store.Store) error {
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
		t.Errorf("%s: %d grants, %d bindings, %d records", s.Location(), len(ids), len(bound), len(said))
	}
	return nil
}

// truncationSizes returns the sizes to which a file is truncated: around the borders of the file
// format, and some more. The exhaustive test takes every byte of the first five pages, and every
// 13th after them.
func truncationSizes(size int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for n := range size {
			near := func(every, first int) bool { d := (n - first + every + 1) % every; return d <= 2 }
			if exhaustive() && (n < 5*4096 || n%13 == 0) || n < 40 && n%3 == 0 || near(4096, 0) && n%8192 < 5 || near(4096+24, 32) || n%4999 == 0 {
				if !yield(n) {
					return
				}
			}
		}
	}
}
