package store_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/store"

	sqlite3 "modernc.org/sqlite/lib"
)

// The power is lost after any operation on a file. Data that was not synced may be there, may be
// missing, or may be torn. Acknowledged decisions are there without a gap, and the log continues.
func TestPowerLoss(t *testing.T) {
	o := backends[0].fresh(t)
	s := open(t, o)
	base := make(map[string][]byte)
	for _, name := range []string{store.DatabaseFile, store.DatabaseFile + "-wal"} {
		text, err := os.ReadFile(filepath.Join(o.Folder, name))
		if err != nil {
			t.Fatal(err)
		}
		base[name] = text
	}
	var done []operation
	acknowledged := []int{} // the number of operations at each acknowledgement
	withDisk(func(o operation) int32 {
		if o.data = bytes.Clone(o.data); o.kind == "write" || o.kind == "truncate" || o.kind == "sync" {
			done = append(done, o)
		}
		return sqlite3.SQLITE_OK
	}, func() {
		for i := range 24 {
			d := testDecision()
			d.Thread, d.Reason = fmt.Sprint(i), strings.Repeat("x", 37*i)
			if err := s.Append(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			acknowledged = append(acknowledged, len(done))
			switch i {
			case 5, 11, 17, 20:
				execSQL(t, s.DB(), "PRAGMA wal_checkpoint("+map[int]string{5: "PASSIVE", 11: "RESTART", 17: "TRUNCATE", 20: "PASSIVE"}[i]+")")
			}
		}
	})
	every, seeds := 2, uint64(2)
	if exhaustive() {
		every, seeds = 1, 20
	}
	states := 0
	for at := 0; at <= len(done); at += every {
		for seed := range seeds {
			states++
			r := rand.New(rand.NewPCG(seed, uint64(at)))
			o := store.Options{Folder: filepath.Join(t.TempDir(), "state")}
			name := fmt.Sprintf("after %d of %d, seed %d", at, len(done), seed)
			if err := os.Mkdir(o.Folder, 0o700); err != nil {
				t.Fatal(err)
			}
			for file, text := range base {
				if err := os.WriteFile(filepath.Join(o.Folder, file), afterPowerLoss(r, file, text, done[:at]), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			least, _ := slices.BinarySearch(acknowledged, at+1)
			withDisk(func(operation) int32 { return sqlite3.SQLITE_OK }, func() { checkRestart(t, o, name, least) })
			os.RemoveAll(o.Folder)
		}
	}
	t.Logf("%d operations; %d states after a loss", len(done), states)
}

func checkRestart(t *testing.T, o store.Options, name string, least int) {
	t.Helper()
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	defer s.Close()
	if _, err := s.Verify(t.Context()); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	var there []string
	for _, e := range readEntries(t, s, store.Filter{}) {
		if there = append(there, e.Thread); e.Thread != fmt.Sprint(len(there)-1) {
			t.Errorf("%s: decisions %q", name, there)
			return
		}
	}
	if len(there) < least {
		t.Errorf("%s: %d decisions, %d acknowledged", name, len(there), least)
	}
	if err := s.Append(t.Context(), testDecision()); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// afterPowerLoss returns the content of a file after a loss of power: all operations up to its last
// sync, and some of the later ones.
func afterPowerLoss(r *rand.Rand, file string, text []byte, done []operation) []byte {
	text = bytes.Clone(text)
	done = slices.DeleteFunc(slices.Clone(done), func(o operation) bool { return o.file != file })
	synced := -1
	for i, o := range done {
		if o.kind == "sync" {
			synced = i
		}
	}
	fate := r.IntN(4) // of later operations: 0 keeps all, 1 none, 2 some, 3 some sectors
	for i, o := range done {
		switch {
		case o.kind == "sync", i > synced && (fate == 1 || fate > 1 && r.IntN(2) == 0):
		case o.kind == "truncate":
			text = resize(text, int(o.size))
		case i > synced && fate == 3:
			const sector = 512
			for from := 0; from < len(o.data); from += sector {
				if r.IntN(2) == 0 {
					text = writeAt(text, int(o.offset)+from, o.data[from:min(from+sector, len(o.data))])
				}
			}
		default:
			text = writeAt(text, int(o.offset), o.data)
		}
	}
	return text
}

func resize(text []byte, size int) []byte {
	if size <= len(text) {
		return text[:size]
	}
	return append(text, make([]byte, size-len(text))...)
}

func writeAt(text []byte, at int, data []byte) []byte {
	text = resize(text, max(len(text), at+len(data)))
	copy(text[at:], data)
	return text
}
