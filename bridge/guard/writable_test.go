package guard

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// Folders stay in the common list when a thread is closed. A thread without an id has no own list.
func TestWritable(t *testing.T) {
	var w threads
	w.makeWritable("T", nil)
	w.makeWritable("T", []string{"/a", "/b", "/a"})
	all := w.writable.ofAll()
	w.makeWritable("U", []string{"/b", "/c"})
	w.makeWritable("", []string{"/d"})
	if !slices.Equal(all, []string{"/a", "/b"}) || !slices.Equal(w.writable.ofAll(), []string{"/a", "/b", "/c", "/d"}) {
		t.Errorf("all: %q, then %q", all, w.writable.ofAll())
	}
	for thread, want := range map[string][]string{"T": {"/a", "/b"}, "U": {"/b", "/c"}, "": nil} {
		if got := w.writableOf(thread); !slices.Equal(got, want) {
			t.Errorf("%q has %q, want %q", thread, got, want)
		}
	}
	w.apply("T", threadUnloaded{})
	if w.writableOf("T") != nil || !slices.Contains(w.writable.ofAll(), "/a") || len(w.writableOf("U")) != 2 {
		t.Errorf("after T is closed: %q, %q, %q", w.writableOf("T"), w.writableOf("U"), w.writable.ofAll())
	}
}

// Over the limit the common list has the root folder, so that no other folder becomes writable.
func TestWritableIsBounded(t *testing.T) {
	var w threads
	for i := range maxWritable {
		w.makeWritable("T", []string{fmt.Sprint("/", i)})
	}
	if slices.Contains(w.writable.ofAll(), "/") {
		t.Errorf("the bound is less than %d", maxWritable)
	}
	w.makeWritable("T", []string{"/more"})
	if !slices.Contains(w.writable.ofAll(), "/") {
		t.Error("the folder beyond the bound has no effect")
	}
	w.makeWritable("T", []string{"/even", "/more"})
	if n := len(w.writable.ofAll()); n != maxWritable+1 {
		t.Errorf("%d folders", n)
	}

	var full threads
	for range 2 { // the same folders again need no room
		for i := range maxWritable / 8 {
			var folders []string
			for k := range 8 {
				folders = append(folders, fmt.Sprint("/", i, "/", k))
			}
			full.makeWritable("T", folders)
		}
	}
	if n := len(full.writable.ofAll()); n != maxWritable || slices.Contains(full.writable.ofAll(), "/") {
		t.Errorf("%d folders after a second call with the same ones", n)
	}
}

// A message is decided again if folders became writable in the meantime.
func TestWritableIsReserved(t *testing.T) {
	for _, test := range []struct {
		changes, calls int
		ok             bool
	}{{0, 1, true}, {1, 2, true}, {maxReserveTries - 1, maxReserveTries, true}, {maxReserveTries, maxReserveTries, false}} {
		var w threads
		calls := 0
		ok := w.reserveWritable("T", func(all []string) []string {
			if len(all) != calls {
				t.Errorf("call %d gets %q", calls, all)
			}
			if calls++; calls <= test.changes {
				w.makeWritable("other", []string{fmt.Sprint("/", calls)})
			}
			return []string{"/t"}
		})
		if ok != test.ok || calls != test.calls || slices.Contains(w.writableOf("T"), "/t") != ok || slices.Contains(w.writable.ofAll(), "/t") != ok {
			t.Errorf("%d changes: %v after %d calls, %q", test.changes, ok, calls, w.writable.ofAll())
		}
	}
	var w threads
	if !w.reserveWritable("T", func([]string) []string { w.makeWritable("other", []string{"/a"}); return nil }) {
		t.Error("a message that makes nothing writable is judged again")
	}
}

// The common list omits a folder inside another one of the same call, unless the sandbox of the
// outer one does not let commands write it. It has a folder of another thread, even inside a folder
// in the list.
func TestWritableHasOuterFolders(t *testing.T) {
	var w threads
	w.makeWritable("T", []string{"/lib/.github", "/lib"})
	w.makeWritable("U", []string{"/lib/sub", "/lib/sub/inner", "/lib/.git/hooks", "/library"})
	if want := []string{"/lib", "/lib/sub", "/lib/.git/hooks", "/library"}; !slices.Equal(w.writable.ofAll(), want) {
		t.Errorf("all: %q, want %q", w.writable.ofAll(), want)
	}
	if got := w.writableOf("U"); len(got) != 4 {
		t.Errorf("U has %q", got)
	}
}

// A call with very many folders does not keep the callers of of and ofAll waiting, and compares no
// two folders of the call with each other.
func TestWritableTakesManyFolders(t *testing.T) {
	folders := make([]string, 400_000)
	for i := range folders {
		folders[i] = fmt.Sprint("/lib/d", i)
	}
	var w threads
	added := make(chan struct{})
	go func() {
		w.makeWritable("T", folders)
		close(added)
	}()
	select {
	case <-added:
	case <-time.After(time.Minute): // to compare each two of them takes longer
		t.Fatalf("%d folders are not added after a minute", len(folders))
	}
	if n := len(w.writable.ofAll()); n != maxWritable+1 || !slices.Contains(w.writable.ofAll(), "/") || len(w.writableOf("T")) != len(folders) {
		t.Errorf("%d folders of all, %d of the thread", n, len(w.writableOf("T")))
	}
}

// Folders that threads add at the same time are all recorded.
func TestWritableAtTheSameTime(t *testing.T) {
	var w threads
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for k := range 50 {
				w.makeWritable("T", []string{fmt.Sprint("/", i, "/", k)})
			}
		})
	}
	all.Wait()
	if len(w.writable.ofAll()) != 400 || len(w.writableOf("T")) != 400 {
		t.Errorf("%d folders of all, %d of the thread", len(w.writable.ofAll()), len(w.writableOf("T")))
	}
}
