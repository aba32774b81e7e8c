package store_test

import (
	"fmt"
	"sync"
	"testing"

	"codex-bridge.example/bridge/store"

	"github.com/google/go-cmp/cmp"
)

// A value beyond the limits in bytes or in number is dropped and reported.
func TestQueueDropsBeyondItsLimits(t *testing.T) {
	q := store.NewQueue[string](3, 10)
	put := func(text string) {
		if q.Fits(len(text), 1) {
			q.Put(text, len(text), 1)
		}
	}
	var got []string
	next := func(next func() (string, int64, bool)) {
		v, dropped, ok := next()
		got = append(got, fmt.Sprint(v, " ", dropped, " ", ok))
	}
	put("12345")
	put("123456") // too many bytes
	put("a")
	put("b")
	if q.Fits(1, 1) { // too many values
		t.Error("a fourth value fits")
	}
	if !q.IsDropping() || q.Dropped() != 2 {
		t.Errorf("dropping %t, lost %d", q.IsDropping(), q.Dropped())
	}
	next(q.Next)
	put("0123456")
	q.Close()
	q.Close()
	for range 3 {
		next(q.Next)
	}
	put("01234567890")
	next(q.TryNext)
	next(q.Next)
	want := []string{"12345 2 true", "a 0 true", "b 0 true", "0123456 0 true", " 1 false", " 0 false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// All values from concurrent puts are received or counted as dropped.
func TestConcurrentPuts(t *testing.T) {
	const each, from = 1000, 8
	q := store.NewQueue[int](16, 1<<20)
	done := make(chan int64)
	go func() {
		var n int64
		for {
			_, dropped, ok := q.Next()
			n += dropped
			if !ok {
				done <- n
				return
			}
			n++
		}
	}()
	var wg sync.WaitGroup
	for range from {
		wg.Go(func() {
			for i := range each {
				q.Put(i, 8, 1)
			}
		})
	}
	wg.Wait()
	q.Close()
	if n := <-done; n != each*from {
		t.Errorf("%d were taken or dropped, of %d", n, each*from)
	}
}
