package guard

import (
	"context"
	"testing"
	"testing/synctest"
)

// The thread/resume of another client waits, and one of the same client does not.
func TestResumesOfOneThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all threads
		a, b := new(Guard), new(Guard)
		first, ok := all.beginResume(t.Context(), "t", a, nil)
		second, same := all.beginResume(t.Context(), "t", a, nil)
		if !ok || !same {
			t.Fatal("a client waits for itself")
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, ok := all.beginResume(canceled, "t", b, nil); ok {
			t.Error("two clients resume the thread at once")
		}
		began := false
		go func() {
			done, _ := all.beginResume(t.Context(), "t", b, nil)
			began = true
			done()
		}()
		first()
		first() // counts once
		if synctest.Wait(); began {
			t.Error("the other client did not wait for the second request")
		}
		second()
		if synctest.Wait(); !began || len(all.records) != 0 {
			t.Error("a request stays")
		}
	})
}
