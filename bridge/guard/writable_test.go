package guard

import (
	"fmt"
	"slices"
	"testing"
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
