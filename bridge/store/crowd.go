package store

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// crowd is the processes that want to write at the same time. PostgreSQL lets them in in the
// order in which they came. SQLite's own waiting looks ten times a second, and who has just
// written is first again: of 50 processes that wrote without a pause, some wrote nothing in ten
// seconds. Here who has waited long looks more often, and who had to wait lets others go first
// the next time.
type crowd struct{ waited atomic.Bool }

// whenFree tries f again for as long as SQLite says that others are at it, until the end of
// ctx.
func (c *crowd) whenFree(ctx context.Context, f func() error) error {
	begun, waited := time.Now(), c.waited.Load()
	var err error
	for first := true; ; first = false {
		if !first || waited {
			select {
			case <-ctx.Done():
				return cmp.Or(err, ctx.Err()) // why it has waited
			case <-time.After(pause(time.Since(begun))):
			}
		}
		err = f()
		var fault *sqlite.Error
		if busy := errors.As(err, &fault) && fault.Code()&0xff == sqlite3.SQLITE_BUSY; !busy || ctx.Err() != nil {
			c.waited.Store(!first)
			return err
		}
	}
}

// pause is how long who has waited for a while waits before it looks again. A change takes less
// than a millisecond, mostly.
func pause(waited time.Duration) time.Duration {
	const shortest, longest, soon, late = time.Millisecond, 20 * time.Millisecond, 5 * time.Millisecond, time.Second
	p := shortest
	if waited > soon && waited < late {
		p = longest - (longest-shortest)*waited/late
	}
	return p/2 + rand.N(p) //nolint:gosec // no secret: those who began together shall not look together
}
