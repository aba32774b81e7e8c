package decide

import (
	"errors"
	"strings"

	"codex-bridge/rpc"
)

// Failure is what has gone wrong with a thread.
type Failure int

// The failures. The zero Failure is a connection that has ended, and whatever else came
// without an answer of Codex: nothing is known then, and nothing given up.
const (
	Closed     Failure = iota
	Busy               // another process writes the thread
	Overloaded         // Codex has too much to do
	Held               // the bridge itself has refused the request
	Lost               // Codex has no such thread
	Refused            // Codex has another reason
	Full               // the context is, for this model
	BadImage           // the model refuses an image of the thread
)

// Measured with 0.169.0: all of these come with -32600.
var texts = []struct {
	holds   string // in lower case
	failure Failure
}{
	{"already has an active writer", Busy},
	{"no rollout found", Lost},  // thread/resume
	{"thread not found:", Lost}, // turn/start and turn/steer
}

// FailureOf is the failure that an error is.
func FailureOf(err error) Failure {
	var e *rpc.Error
	if !errors.As(err, &e) {
		return Closed
	}
	switch {
	case e.Code == rpc.CodeOverloaded:
		return Overloaded
	case e.Code == rpc.CodeBusy:
		return Busy
	case e.Code == rpc.CodeUpstream || e.Code == rpc.CodeDeadline:
		return Closed
	case e.Code <= rpc.CodeRefused && e.Code >= rpc.CodeBusy:
		return Held
	}
	message := strings.ToLower(e.Message)
	for _, t := range texts {
		if strings.Contains(message, t.holds) {
			return t.failure
		}
	}
	return Refused
}

// FailureOfTurn is the failure that the error of a turn is, by its codexErrorInfo and its
// message. ok tells whether it is one that matters to the thread.
func FailureOfTurn(failed rpc.Value) (f Failure, ok bool) {
	if failed.Get("codexErrorInfo").Is("contextWindowExceeded") {
		return Full, true
	}
	message, _ := failed.Get("message").Text()
	message = strings.ToLower(message)
	if failed.Get("codexErrorInfo").Is("badRequest") && strings.Contains(message, "image") && strings.Contains(message, "invalid") {
		return BadImage, true
	}
	return Refused, false
}

// Sequel is what follows from a failure.
type Sequel struct {
	Keep   bool   // the binding stays: the failure is told to whoever asked
	Again  bool   // once more, with a new thread; a second failure is told
	Reason Reason // why the thread is given up
}

// AfterResume is what follows when a thread can't be resumed. Only a failure that says
// something about the thread costs it.
func AfterResume(f Failure) Sequel {
	switch f {
	case Lost:
		return Sequel{Again: true, Reason: ThreadLost}
	case Refused:
		return Sequel{Again: true, Reason: ResumeFailed}
	}
	return Sequel{Keep: true}
}

// AfterTurn is what follows when a turn fails. bootstrapped tells that the thread was
// resumed and had been told the conversation when it started, so that a new one, which is
// told it anew, has room.
func AfterTurn(f Failure, bootstrapped bool) Sequel {
	switch f {
	case Lost:
		return Sequel{Again: true, Reason: ThreadLost}
	case Full:
		if bootstrapped {
			return Sequel{Again: true, Reason: ContextFull}
		}
	case BadImage:
		return Sequel{Reason: ImageRefused}
	}
	return Sequel{Keep: true}
}
