package store_test

import (
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge.example/bridge/store"
)

// The writer rests 19 times as long as it has worked, but only while values are dropped,
// after a minimum of work, for a bounded time, and not after Close.
func TestPacerRestsOnlyWhileDropping(t *testing.T) {
	for name, test := range map[string]struct {
		worked, want       time.Duration
		nothing, told, end bool
	}{
		"a piece":            {worked: 2 * time.Millisecond, want: 38 * time.Millisecond},
		"a small piece":      {worked: 900 * time.Microsecond},
		"a very long piece":  {worked: time.Hour, want: 190 * time.Millisecond},
		"nothing is dropped": {worked: time.Second, nothing: true},
		"it was told of it":  {worked: time.Second, told: true},
		"at the end":         {worked: time.Second, end: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := store.NewQueue[int](4, 10)
				pace := q.NewPacer()
				pace.Begin()
				time.Sleep(test.worked)
				if !test.nothing {
					q.Drop(1)
				}
				if test.told {
					q.TryNext()
				}
				if test.end {
					q.Close()
				}
				began := time.Now()
				pace.Rest()
				if rested := time.Since(began); rested != test.want {
					t.Errorf("rested %v, want %v", rested, test.want)
				}
				began = time.Now()
				pace.Rest() // no work since the last rest
				if rested := time.Since(began); !test.end && test.want > 0 && rested != 0 {
					t.Errorf("rested again, %v", rested)
				}
			})
		})
	}
}
