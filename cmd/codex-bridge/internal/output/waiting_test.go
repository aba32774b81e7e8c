package output

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A user hears that a command works until it prints or reads something.
func TestWaiting(t *testing.T) {
	for _, act := range []func(*waiting){
		func(w *waiting) { w.Stop() },
		func(w *waiting) { _, _ = w.Writer(io.Discard).Write(nil) },
		func(w *waiting) { _, _ = w.Reader(strings.NewReader("")).Read(nil) },
	} {
		synctest.Test(t, func(t *testing.T) {
			var b strings.Builder
			w := &waiting{name: "codex-bridge doctor", to: &b, start: time.Now()}
			w.timer = time.AfterFunc(waitingAfter, w.print)
			time.Sleep(waitingAfter + waitingEvery + time.Second)
			act(w)
			time.Sleep(time.Minute)
			w.mu.Lock()
			defer w.mu.Unlock()
			if got := b.String(); got != "codex-bridge doctor: working for 2s\ncodex-bridge doctor: working for 12s\n" {
				t.Errorf("%q", got)
			}
		})
	}
}
