package turn

import (
	"errors"
	"strings"

	"codex-bridge/rpc"
)

var (
	// ErrBusy is returned where a turn is running that the input can't join.
	ErrBusy = errors.New("a turn is running in this thread")
	// ErrNoTurn is returned where there is no turn to steer.
	ErrNoTurn = errors.New("no turn is running in this thread that takes input")
)

// Gone tells whether Codex does not know the thread: it was never loaded here, or is gone.
func Gone(err error) bool {
	return says(err, "thread not found:") || says(err, "no rollout found for thread id")
}

// closedToInput tells of a review or a compaction. turn/start says it in the words of
// Codex's own source.
func closedToInput(err error) bool {
	return says(err, "cannot steer a ") || says(err, "activeturnnotsteerable")
}

// doubtful tells whether a request may have been carried out although it failed.
func doubtful(err error) bool {
	var e *rpc.Error
	return !errors.As(err, &e) || e.Code == rpc.CodeDeadline
}

func says(err error, words string) bool {
	return err != nil && strings.Contains(strings.ToLower(err.Error()), words)
}
