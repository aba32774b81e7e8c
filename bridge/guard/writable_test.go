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
	var w writableFolders
	w.add("T", nil)
	w.add("T", []string{"/a", "/b", "/a"})
	all := w.ofAll()
	w.add("U", []string{"/b", "/c"})
	w.add("", []string{"/d"})
	if !slices.Equal(all, []string{"/a", "/b"}) || !slices.Equal(w.ofAll(), []string{"/a", "/b", "/c", "/d"}) {
		t.Errorf("all: %q, then %q", all, w.ofAll())
	}
	for thread, want := range map[string][]string{"T": {"/a", "/b"}, "U": {"/b", "/c"}, "": nil} {
		if got := w.of(thread); !slices.Equal(got, want) {
			t.Errorf("%q has %q, want %q", thread, got, want)
		}
	}
	w.remove("T")
	if w.of("T") != nil || !slices.Contains(w.ofAll(), "/a") || len(w.of("U")) != 2 {
		t.Errorf("after T is closed: %q, %q, %q", w.of("T"), w.of("U"), w.ofAll())
	}
}

// Over the limit the common list has the root folder, so that no other folder becomes writable.
func TestWritableIsBounded(t *testing.T) {
	var w writableFolders
	for i := range maxWritable {
		w.add("T", []string{fmt.Sprint("/", i)})
	}
	if slices.Contains(w.ofAll(), "/") {
		t.Errorf("the bound is less than %d", maxWritable)
	}
	w.add("T", []string{"/more"})
	if !slices.Contains(w.ofAll(), "/") {
		t.Error("the folder beyond the bound has no effect")
	}
	w.add("T", []string{"/even", "/more"})
	if n := len(w.ofAll()); n != maxWritable+1 {
		t.Errorf("%d folders", n)
	}

	var full writableFolders
	for range 2 { // the same folders again need no room
		for i := range maxWritable / 8 {
			var folders []string
			for k := range 8 {
				folders = append(folders, fmt.Sprint("/", i, "/", k))
			}
			full.add("T", folders)
		}
	}
	if n := len(full.ofAll()); n != maxWritable || slices.Contains(full.ofAll(), "/") {
		t.Errorf("%d folders after a second call with the same ones", n)
	}
}

// A message is decided again if folders became writable in the meantime.
func TestWritableIsReserved(t *testing.T) {
	for _, test := range []struct {
		changes, calls int
		ok             bool
	}{{0, 1, true}, {1, 2, true}, {maxReserveTries - 1, maxReserveTries, true}, {maxReserveTries, maxReserveTries, false}} {
		var w writableFolders
		calls := 0
		ok := w.reserve(func(all []string) (string, []string) {
			if len(all) != calls {
				t.Errorf("call %d gets %q", calls, all)
			}
			if calls++; calls <= test.changes {
				w.add("other", []string{fmt.Sprint("/", calls)})
			}
			return "T", []string{"/t"}
		})
		if ok != test.ok || calls != test.calls || slices.Contains(w.of("T"), "/t") != ok || slices.Contains(w.ofAll(), "/t") != ok {
			t.Errorf("%d changes: %v after %d calls, %q", test.changes, ok, calls, w.ofAll())
		}
	}
	var w writableFolders
	if !w.reserve(func([]string) (string, []string) { w.add("other", []string{"/a"}); return "T", nil }) {
		t.Error("a message that makes nothing writable is judged again")
	}
}

// The common list omits a folder inside another one of the same call, unless the sandbox of the
// outer one does not let commands write it. It has a folder of another thread, even inside a folder
// in the list.
func TestWritableHasOuterFolders(t *testing.T) {
	var w writableFolders
	w.add("T", []string{"/lib/.github", "/lib"})
	w.add("U", []string{"/lib/sub", "/lib/sub/inner", "/lib/.git/hooks", "/library"})
	if want := []string{"/lib", "/lib/sub", "/lib/.git/hooks", "/library"}; !slices.Equal(w.ofAll(), want) {
		t.Errorf("all: %q, want %q", w.ofAll(), want)
	}
	if got := w.of("U"); len(got) != 4 {
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
	var w writableFolders
	added := make(chan struct{})
	go func() {
		w.add("T", folders)
		close(added)
	}()
	select {
	case <-added:
	case <-time.After(time.Minute): // to compare each two of them takes longer
		t.Fatalf("%d folders are not added after a minute", len(folders))
	}
	if n := len(w.ofAll()); n != maxWritable+1 || !slices.Contains(w.ofAll(), "/") || len(w.of("T")) != len(folders) {
		t.Errorf("%d folders of all, %d of the thread", n, len(w.of("T")))
	}
}

// Folders that threads add at the same time are all recorded.
func TestWritableAtTheSameTime(t *testing.T) {
	var w writableFolders
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for k := range 50 {
				w.add("T", []string{fmt.Sprint("/", i, "/", k)})
			}
		})
	}
	all.Wait()
	if len(w.ofAll()) != 400 || len(w.of("T")) != 400 {
		t.Errorf("%d folders of all, %d of the thread", len(w.ofAll()), len(w.of("T")))
	}
}
