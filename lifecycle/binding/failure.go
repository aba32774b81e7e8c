package binding

import (
	"errors"
	"strings"

	"codex-bridge/rpc"
)

// Failure is the kind of an error of a thread request.
type Failure int

// The failures. The zero Failure is a connection that has ended, and whatever else came
// without an answer of Codex: nothing is known then, and nothing given up.
const (
	FailureClosed     Failure = iota
	FailureBusy               // another process writes the thread
	FailureOverloaded         // Codex has too much to do
	FailureHeld               // the bridge itself has refused the request
	FailureLost               // Codex has no such thread
	FailureRefused            // Codex has another reason
	FailureFull               // the context is, for this model
	FailureBadImage           // the model refuses an image of the thread
)

// Measured with 0.169.0: all of these come with -32600.
var errorTexts = []struct {
	holds   string // in lower case
	failure Failure
}{
	{"already has an active writer", FailureBusy},
	{"no rollout found", FailureLost},  // thread/resume
	{"thread not found:", FailureLost}, // turn/start and turn/steer
}

// FailureOf is the failure that an error is.
func FailureOf(err error) Failure {
	var e *rpc.Error
	if !errors.As(err, &e) {
		return FailureClosed
	}
	switch {
	case e.Code == rpc.CodeOverloaded:
		return FailureOverloaded
	case e.Code == rpc.CodeBusy:
		return FailureBusy
	case e.Code == rpc.CodeUpstream || e.Code == rpc.CodeDeadline:
		return FailureClosed
	case e.Code <= rpc.CodeRefused && e.Code >= rpc.CodeBusy:
		return FailureHeld
	}
	message := strings.ToLower(e.Message)
	for _, t := range errorTexts {
		if strings.Contains(message, t.holds) {
			return t.failure
		}
	}
	return FailureRefused
}

// FailureOfTurn is the failure that the error of a turn is, by its codexErrorInfo and its
// message. ok tells whether it is one that matters to the thread.
func FailureOfTurn(failed rpc.Value) (f Failure, ok bool) {
	if failed.Get("codexErrorInfo").Is("contextWindowExceeded") {
		return FailureFull, true
	}
	message, _ := failed.Get("message").Text()
	message = strings.ToLower(message)
	if failed.Get("codexErrorInfo").Is("badRequest") && strings.Contains(message, "image") && strings.Contains(message, "invalid") {
		return FailureBadImage, true
	}
	return FailureRefused, false
}

// Recovery is what the bridge does after a failure.
type Recovery struct {
	Keep   bool   // the binding stays, and the client gets the error
	Again  bool   // the request is sent again, for a new thread; the client gets a second error
	Reason Reason // why the thread is given up
}

// AfterResumeFailure returns the recovery when a thread can't be resumed. The thread is given
// up only if the failure says something about the thread.
func AfterResumeFailure(f Failure) Recovery {
	switch f {
	case FailureLost:
		return Recovery{Again: true, Reason: ReasonThreadLost}
	case FailureRefused:
		return Recovery{Again: true, Reason: ReasonResumeFailed}
	}
	return Recovery{Keep: true}
}

// AfterTurnFailure returns the recovery when a turn fails. bootstrapped reports that the thread
// was resumed and got the conversation's history when it started. A new thread, which gets the
// history anew, then has room.
func AfterTurnFailure(f Failure, bootstrapped bool) Recovery {
	switch f {
	case FailureLost:
		return Recovery{Again: true, Reason: ReasonThreadLost}
	case FailureFull:
		if bootstrapped {
			return Recovery{Again: true, Reason: ReasonContextFull}
		}
	case FailureBadImage:
		return Recovery{Reason: ReasonImageRefused}
	}
	return Recovery{Keep: true}
}
