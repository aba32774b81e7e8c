package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"

	sqlite3 "modernc.org/sqlite/lib"
)

// diskFaults are results of the n-th operation of SQLite on its files.
var diskFaults = []struct {
	name string
	// code returns SQLite's error code; 0: the fault does not affect this operation.
	code      func(operation) int32
	permanent bool // later operations fail too, until the disk recovers
}{
	{"full", func(o operation) int32 {
		if o.kind == "write" {
			return sqlite3.SQLITE_FULL
		}
		return 0
	}, true},
	{"once", eio, false},
	{"broken", eio, true},
	{"read-only", func(o operation) int32 {
		switch o.kind {
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
	}[o.kind]
}

// Any operation on a file may fail, once or from then on. Acknowledged entries are kept; for others
// the error names the file. When the disk recovers, the open store and the next one continue a
// complete log.
func TestDiskFaults(t *testing.T) {
	step := 19 // no divisor of the operations of one change
	if exhaustive() {
		step = 1
	}
	for _, fault := range diskFaults {
		t.Run(fault.name, func(t *testing.T) {
			tried := 0
			for n := 1; ; n += step {
				l := &workload{t: t, name: fmt.Sprintf("%s at %d", fault.name, n), o: backends[0].fresh(t)}
				at := 0
				withDisk(func(o operation) int32 {
					code := fault.code(o)
					if code != 0 {
						at++
					}
					if code == 0 || at < n || at > n && !fault.permanent {
						return sqlite3.SQLITE_OK
					}
					l.failedAt = fmt.Sprint(o.kind, " ", o.file)
					return code
				}, l.run)
				if l.failedAt == "" { // fewer than n operations
					if err := l.s.Close(); err != nil {
						t.Error(err)
					}
					break
				}
				tried++
				withDisk(func(operation) int32 { return sqlite3.SQLITE_OK }, l.checkRecovered)
				os.RemoveAll(l.o.Folder)
			}
			t.Logf("%d places", tried)
			if tried < 5 {
				t.Errorf("only %d places were tried", tried)
			}
		})
	}
}

// The error of a full disk suggests to free space, also where SQLite reports an error of the disk:
// it finds no room for the -shm file of an existing database.
func TestHintForFullDisk(t *testing.T) {
	const full, broken = "free some space there", "look for errors of the disk"
	for _, tt := range []struct {
		kind string
		code int32
		want string
	}{
		{"map", sqlite3.SQLITE_IOERR_SHMSIZE, full}, {"write", sqlite3.SQLITE_FULL, full},
		{"map", sqlite3.SQLITE_IOERR_SHMMAP, broken}, {"write", sqlite3.SQLITE_IOERR_WRITE, broken},
	} {
		o := backends[0].fresh(t)
		if err := open(t, o).Close(); err != nil {
			t.Fatal(err)
		}
		withDisk(func(o operation) int32 {
			if o.kind == tt.kind {
				return tt.code
			}
			return sqlite3.SQLITE_OK
		}, func() {
			s, err := store.Open(t.Context(), o)
			if err == nil {
				err = s.Append(t.Context(), testDecision())
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s fails with %d: %v, want %q", tt.kind, tt.code, err, tt.want)
			}
		})
	}
}

// workload uses the state as a bridge does.
type workload struct {
	t              *testing.T
	name, failedAt string
	o              store.Options
	s              *store.Store
	acknowledged   []string        // in this order
	uncertain      map[string]bool // returned an error, but may be there
	grants         []string
}

func (l *workload) run() {
	s, err := store.Open(l.t.Context(), l.o)
	if err != nil {
		l.checkError("Open", err)
		return
	}
	l.s, l.uncertain = s, make(map[string]bool)
	here, err := store.CurrentProcess()
	if err != nil {
		l.t.Fatal(err)
	}
	for i := range 3 {
		l.append(fmt.Sprint("one ", i))
		g := testGrant(i, "/a")
		if err := s.AddGrant(l.t.Context(), g, 9); err != nil {
			l.checkError("AddGrant", err)
		} else {
			l.grants = append(l.grants, g.ID)
		}
		l.checkError("PutBinding", s.PutBinding(l.t.Context(), testBinding(i, "t")))
		l.checkError("AcquireLease", s.AcquireLease(l.t.Context(), fmt.Sprint("s", i), here, noon))
		_, err := s.AddRecords(l.t.Context(), []store.Record{testRecord("u", store.User, i, strings.Repeat("the pump ", 999))})
		l.checkError("AddRecords", err)
		if _, err := s.DB().ExecContext(l.t.Context(), "PRAGMA wal_checkpoint(PASSIVE)"); err != nil && i == 0 {
			continue // SQLite ignores errors of its own checkpoints too
		}
	}
	l.checkError("ReleaseLease", s.ReleaseLease(l.t.Context(), "s", here))
	_, err = s.Verify(l.t.Context())
	l.checkError("Verify", err)
	s.Close() // deletes the write-ahead log
	if l.s, err = store.Open(l.t.Context(), l.o); err != nil {
		l.s = nil
		l.checkError("Open again", err)
	}
}

// append writes a decision that needs its own page.
func (l *workload) append(name string) bool {
	d := testDecision()
	d.Thread, d.Reason = name, strings.Repeat("x", 4096)
	err := l.s.Append(l.t.Context(), d)
	if err != nil {
		l.uncertain[name] = true
		l.checkError("Append", err)
		return false
	}
	l.acknowledged = append(l.acknowledged, name)
	return true
}

// checkError checks that an error names the file and comes from the fault.
func (l *workload) checkError(what string, err error) {
	l.t.Helper()
	if err == nil {
		return
	}
	var broken *decision.BrokenError
	if l.failedAt == "" || errors.As(err, &broken) || !strings.Contains(err.Error(), l.o.Folder) {
		l.t.Errorf("%s (%s): %s returned %v", l.name, l.failedAt, what, err)
	}
}

// checkRecovered checks the state after the disk recovered.
func (l *workload) checkRecovered() {
	l.t.Helper()
	if l.s != nil {
		if !l.append("recovered") {
			l.t.Errorf("%s (%s): Append to the open store failed", l.name, l.failedAt)
		}
		l.checkContent(l.s)
		l.s.Close()
	} else if l.uncertain == nil {
		l.uncertain = make(map[string]bool)
	}
	var err error
	if l.s, err = store.Open(l.t.Context(), l.o); err != nil {
		l.t.Errorf("%s (%s): the next Open returned %v", l.name, l.failedAt, err)
		return
	}
	defer l.s.Close()
	l.append("next")
	l.checkContent(l.s)
}

func (l *workload) checkContent(s *store.Store) {
	l.t.Helper()
	if _, err := s.Verify(l.t.Context()); err != nil {
		l.t.Errorf("%s (%s): %v", l.name, l.failedAt, err)
	}
	var there []string
	for _, e := range readEntries(l.t, s, store.Filter{}) {
		if !l.uncertain[e.Thread] {
			there = append(there, e.Thread)
		}
	}
	if !slices.Equal(there, l.acknowledged) {
		l.t.Errorf("%s (%s): decisions %q, acknowledged %q", l.name, l.failedAt, there, l.acknowledged)
	}
	kept := grantIDs(l.t, s)
	for _, id := range l.grants {
		if !slices.Contains(kept, id) {
			l.t.Errorf("%s (%s): the grant %s is lost", l.name, l.failedAt, id)
		}
	}
	var sound string
	if err := s.DB().QueryRowContext(l.t.Context(), "PRAGMA integrity_check").Scan(&sound); err != nil || sound != "ok" {
		l.t.Errorf("%s (%s): %s, %v", l.name, l.failedAt, sound, err)
	}
	if left, err := filepath.Glob(filepath.Join(l.o.Folder, "*.new*")); err != nil || len(left) > 0 {
		l.t.Errorf("%s (%s): leftover files %q, %v", l.name, l.failedAt, left, err)
	}
}
