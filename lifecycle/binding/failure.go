package binding

import (
	"errors"
	"strings"

	"codex-bridge.example/rpc"
)

// Failure is the kind of an error of a thread request.
type Failure int

// The failures. The zero Failure means that there was no response from Codex. Then the thread's state
// is unknown, and the binding stays.
const (
	FailureClosed     Failure = iota
	FailureBusy               // another process writes the thread
	FailureOverloaded         // Codex has too much to do
	FailureRejected           // the bridge has refused the request
	FailureLost               // Codex has no such thread
	FailureRefused            // Codex has another reason
	FailureFull               // the context is full, for this model
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

// FailureOf returns the Failure of an error.
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
		return FailureRejected
	}
	message := strings.ToLower(e.Message)
	for _, t := range errorTexts {
		if strings.Contains(message, t.holds) {
			return t.failure
		}
	}
	return FailureRefused
}

// FailureOfTurn returns the Failure of a turn's error, by its codexErrorInfo and message. ok is false
// if the error does not concern the thread.
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
	Keep   bool   // keep the binding and send the client the error
	Again  bool   // send the request again, with a new thread
	Reason Reason // why the thread is replaced
}

// AfterResumeFailure returns the recovery when a thread can't be resumed. The thread is replaced only
// if the failure concerns the thread.
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
