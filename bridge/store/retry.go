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

// busyRetry retries a write while other processes write without a turn: see turns. PostgreSQL serves
// writers in their order.
// SQLite's busy handler polls ten times a second, and the last writer usually writes again first:
// of 50 processes that wrote without a pause, some wrote nothing in ten seconds. With busyRetry, a
// process that has waited long polls more often, and a process that had to wait lets others go
// first the next time.
type busyRetry struct{ waited atomic.Bool }

// do calls f again while SQLite returns SQLITE_BUSY, until ctx is done.
func (b *busyRetry) do(ctx context.Context, f func() error) error {
	start, waited := time.Now(), b.waited.Load()
	var err error
	for first := true; ; first = false {
		if !first || waited {
			select {
			case <-ctx.Done():
				return cmp.Or(err, ctx.Err()) // the error of SQLite says more
			case <-time.After(pollInterval(time.Since(start))):
			}
		}
		err = f()
		var sqliteErr *sqlite.Error
		if busy := errors.As(err, &sqliteErr) && sqliteErr.Code()&0xff == sqlite3.SQLITE_BUSY; !busy || ctx.Err() != nil {
			b.waited.Store(!first)
			return err
		}
	}
}

// pollInterval returns the time until the next try: 1 ms for the first 5 ms, then 20 ms, falling to
// 1 ms within a second. Most writes take less than a millisecond.
func pollInterval(waited time.Duration) time.Duration {
	const minInterval, maxInterval, soon, late = time.Millisecond, 20 * time.Millisecond, 5 * time.Millisecond, time.Second
	p := minInterval
	if waited > soon && waited < late {
		p = maxInterval - (maxInterval-minInterval)*waited/late
	}
	return p/2 + rand.N(p) //nolint:gosec // no secret: processes that started together must not poll together
}
