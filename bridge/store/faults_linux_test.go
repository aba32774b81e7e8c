package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge/bridge/store"

	sqlite3 "modernc.org/sqlite/lib"
)

// diskFaults are what becomes of the n-th thing that SQLite does to its files.
var diskFaults = []struct {
	name string
	// code is what it is told; 0: this fault does not concern such a thing.
	code  func(operation) int32
	lasts bool // all that comes after it has the same fate, until it is mended
}{
	{"full", func(o operation) int32 {
		if o.does == "write" {
			return sqlite3.SQLITE_FULL
		}
		return 0
	}, true},
	{"once", eio, false},
	{"broken", eio, true},
	{"read-only", func(o operation) int32 {
		switch o.does {
		case "write", "truncate":
			return sqlite3.SQLITE_READONLY
		case "map":
			return sqlite3.SQLITE_READONLY_CANTINIT
		case "delete":
			return sqlite3.SQLITE_IOERR_DELETE
		}
		return 0
	}, true},
}

func eio(o operation) int32 {
	return map[string]int32{
		"open": sqlite3.SQLITE_CANTOPEN, "read": sqlite3.SQLITE_IOERR_READ, "write": sqlite3.SQLITE_IOERR_WRITE, "delete": sqlite3.SQLITE_IOERR_DELETE,
		"access": sqlite3.SQLITE_IOERR_ACCESS, "truncate": sqlite3.SQLITE_IOERR_TRUNCATE, "sync": sqlite3.SQLITE_IOERR_FSYNC,
		"size": sqlite3.SQLITE_IOERR_FSTAT, "map": sqlite3.SQLITE_IOERR_SHMMAP,
	}[o.does]
}

// Whatever fails, and from whichever thing on that is done to a file: what was acknowledged is
// kept, what was not is an error that names the file, and once it is mended both the store
// that is open and the next one go on with a log that is whole.
func TestDiskFaults(t *testing.T) {
	step := 19 // no divisor of what a change does
	if wide() {
		step = 1
	}
	for _, fault := range diskFaults {
		t.Run(fault.name, func(t *testing.T) {
			tried := 0
			for n := 1; ; n += step {
				l := &life{t: t, name: fmt.Sprintf("%s at %d", fault.name, n), o: backends[0].fresh(t)}
				at := 0
				judged(func(o operation) int32 {
					code := fault.code(o)
					if code != 0 {
						at++
					}
					if code == 0 || at < n || at > n && !fault.lasts {
						return sqlite3.SQLITE_OK
					}
					l.hit = fmt.Sprint(o.does, " ", o.file)
					return code
				}, l.lives)
				if l.hit == "" { // it has no n things
					if err := l.s.Close(); err != nil {
						t.Error(err)
					}
					break
				}
				tried++
				judged(func(operation) int32 { return sqlite3.SQLITE_OK }, l.goesOn)
				os.RemoveAll(l.o.Folder)
			}
			t.Logf("%d places", tried)
			if tried < 5 {
				t.Errorf("only %d places were tried", tried)
			}
		})
	}
}

// life is all that a bridge does with its state.
type life struct {
	t         *testing.T
	name, hit string
	o         store.Options
	s         *store.Store
	said      []string        // that were acknowledged, in this order
	unsure    map[string]bool // that failed: they may be there all the same
	grants    []string
}

func (l *life) lives() {
	s, err := store.Open(l.t.Context(), l.o)
	if err != nil {
		l.fails("Open", err)
		return
	}
	l.s, l.unsure = s, make(map[string]bool)
	here, err := store.Here()
	if err != nil {
		l.t.Fatal(err)
	}
	for i := range 3 {
		l.append(fmt.Sprint("one ", i))
		g := grant(i, "/a")
		if err := s.AddGrant(l.t.Context(), g, 9); err != nil {
			l.fails("AddGrant", err)
		} else {
			l.grants = append(l.grants, g.ID)
		}
		l.fails("PutBinding", s.PutBinding(l.t.Context(), bound(i, "t")))
		l.fails("Take", s.Take(l.t.Context(), fmt.Sprint("s", i), here, noon))
		_, err := s.Keep(l.t.Context(), []store.Record{record("u", store.User, i, strings.Repeat("the pump ", 999))})
		l.fails("Keep", err)
		if _, err := s.DB().ExecContext(l.t.Context(), "PRAGMA wal_checkpoint(PASSIVE)"); err != nil && i == 0 {
			continue // as SQLite does by itself, and tells nobody
		}
	}
	l.fails("ReleaseAll", s.ReleaseAll(l.t.Context(), here))
	_, err = s.Verify(l.t.Context())
	l.fails("Verify", err)
	s.Close() // the last one out tidies up
	if l.s, err = store.Open(l.t.Context(), l.o); err != nil {
		l.s = nil
		l.fails("Open again", err)
	}
}

// append writes a decision that needs a page of its own.
func (l *life) append(name string) bool {
	d := full()
	d.Thread, d.Reason = name, strings.Repeat("x", 4096)
	err := l.s.Append(l.t.Context(), d)
	if err != nil {
		l.unsure[name] = true
		l.fails("Append", err)
		return false
	}
	l.said = append(l.said, name)
	return true
}

// fails looks at an error: that it names the file, and is none of the fault's making.
func (l *life) fails(what string, err error) {
	l.t.Helper()
	if err == nil {
		return
	}
	var broken *store.BrokenError
	if l.hit == "" || errors.As(err, &broken) || !strings.Contains(err.Error(), l.o.Folder) {
		l.t.Errorf("%s (%s): %s says %v", l.name, l.hit, what, err)
	}
}

// goesOn is what has to hold when the disk is well again.
func (l *life) goesOn() {
	l.t.Helper()
	if l.s != nil {
		if !l.append("mended") {
			l.t.Errorf("%s (%s): the open store does not go on", l.name, l.hit)
		}
		l.holds(l.s)
		l.s.Close()
	} else if l.unsure == nil {
		l.unsure = make(map[string]bool)
	}
	var err error
	if l.s, err = store.Open(l.t.Context(), l.o); err != nil {
		l.t.Errorf("%s (%s): the next start says %v", l.name, l.hit, err)
		return
	}
	defer l.s.Close()
	l.append("next")
	l.holds(l.s)
}

func (l *life) holds(s *store.Store) {
	l.t.Helper()
	if _, err := s.Verify(l.t.Context()); err != nil {
		l.t.Errorf("%s (%s): %v", l.name, l.hit, err)
	}
	var there []string
	for _, e := range entries(l.t, s, store.Filter{}) {
		if !l.unsure[e.Thread] {
			there = append(there, e.Thread)
		}
	}
	if !slices.Equal(there, l.said) {
		l.t.Errorf("%s (%s): there is %q, and acknowledged was %q", l.name, l.hit, there, l.said)
	}
	kept := grantIDs(l.t, s)
	for _, id := range l.grants {
		if !slices.Contains(kept, id) {
			l.t.Errorf("%s (%s): the grant %s is lost", l.name, l.hit, id)
		}
	}
	var sound string
	if err := s.DB().QueryRowContext(l.t.Context(), "PRAGMA integrity_check").Scan(&sound); err != nil || sound != "ok" {
		l.t.Errorf("%s (%s): %s, %v", l.name, l.hit, sound, err)
	}
	if left, err := filepath.Glob(filepath.Join(l.o.Folder, "*.new*")); err != nil || len(left) > 0 {
		l.t.Errorf("%s (%s): left behind is %q, %v", l.name, l.hit, left, err)
	}
}
