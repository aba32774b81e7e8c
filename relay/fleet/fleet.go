package fleet

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"time"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
)

// Limits of one batch.
const (
	maxBatch      = 500
	maxBatchBytes = 1 << 20
	// sendTimeout limits the wait for an acknowledgement.
	sendTimeout = 30 * time.Second
)

// Log is the local log of one or more bridges. *store.Store implements it.
type Log interface {
	Chain(ctx context.Context) (string, error)
	SealedAfter(ctx context.Context, head decision.Head, count, size int) ([]store.Sealed, error)
	Shipping(ctx context.Context, target string) (store.Shipping, error)
	SetShipping(ctx context.Context, target string, p store.Shipping) error
	AcquireLease(ctx context.Context, session string, h store.Holder, at time.Time) error
	ReleaseLease(ctx context.Context, session string, h store.Holder) error
}

// Sender is the machine and the user of a local log. The fleet log has the names of the first batch.
type Sender struct{ Host, User string }

// ThisSender returns this machine and its user.
func ThisSender() Sender {
	s := Sender{User: os.Getenv("USER")}
	s.Host, _ = os.Hostname() // the fleet log knows the chain without it
	if account, err := user.Current(); err == nil {
		s.User = account.Username
	}
	return s
}

// Batch is a part of a chain. It may be empty.
type Batch struct {
	Chain   string
	Sender  Sender
	After   decision.Head // the entry before the first one
	Entries []store.Sealed
}

// Sink is a fleet log. Only one goroutine may use it at a time.
type Sink interface {
	// Location names the fleet log, without a password.
	Location() string
	// Send appends a batch and returns the last entry of the chain that is safe in the fleet log. That may
	// be an entry before the batch, which must then be sent from there on, or an entry after it.
	Send(ctx context.Context, b Batch) (decision.Head, error)
	// Close closes the connection. Send opens it again.
	Close()
}

// ForkError means that the local log and the fleet log have different entries with one number.
type ForkError struct{ Location, Chain, Problem string }

func (e *ForkError) Error() string {
	return fmt.Sprintf("%s and this log differ in the chain %s: %s; this state was restored from a copy or is used on two machines, or one of the logs was changed. If you know the cause, \"codex-bridge decisions ship --new-chain\" sends this log as a new chain",
		e.Location, e.Chain, e.Problem)
}
