package guard

import (
	"testing"
	"testing/synctest"
)

// awaitOpenings waits for each pending request that opens a thread, in any order of the responses.
func TestAwaitOpenings(t *testing.T) {
	for name, order := range map[string][2]int{"in order": {0, 1}, "the second one first": {1, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var threads threads
				done := []func(){threads.beginOpening(""), threads.beginOpening("")}
				waits := func() bool {
					ended, finished := make(chan struct{}), make(chan struct{})
					go func() {
						threads.awaitOpenings(t.Context(), "t", ended)
						close(finished)
					}()
					synctest.Wait()
					select {
					case <-finished:
						return false
					default:
						close(ended)
						return true
					}
				}
				for i, n := range order {
					if !waits() {
						t.Errorf("it does not wait after %d responses", i)
					}
					done[n]()
				}
				if waits() {
					t.Error("it waits after both responses")
				}
			})
		})
	}
}
