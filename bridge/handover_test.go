package bridge

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestSlowMessageLetsAnotherGoroutineRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		w := newHandoverTimer(func() { reads.Add(1) })
		handle := func(d time.Duration, of int32) int32 {
			state := new(atomic.Int32)
			state.Store(of)
			w.begin(state)
			time.Sleep(d)
			synctest.Wait()
			w.end(state)
			return state.Load()
		}
		for range 100 {
			if got := handle(handoverAfter/10, handling); got != handling {
				t.Fatalf("a quick message: state %d", got)
			}
		}
		for range 3 {
			if got := handle(2*handoverAfter, handling); got != handedOver {
				t.Errorf("a slow message: state %d", got)
			}
			if got := handle(2*handoverAfter, blocked); got != blocked {
				t.Errorf("a slow message that is held: state %d", got)
			}
			time.Sleep(time.Hour)
		}
		if n := reads.Load(); n != 3 {
			t.Errorf("%d goroutines read on, want 3", n)
		}
	})
}
