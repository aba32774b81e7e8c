package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/creachadair/jrpc2"

	"codex-bridge.example/relay/hook/ask"
)

// awaitOutput returns the text for Codex in the bridge's reply, or an [ask.Failure]. It checks
// Codex's input only if no bridge answered; the bridge checks it otherwise.
func awaitOutput(a *ask.Request) ([]byte, error) {
	output, err := receiveOutput(a)
	var failure *ask.Failure
	if errors.As(err, &failure) && failure.NoBridge && a.Stage() > ask.Reading {
		// Input that can't be read is denied even with --on-failure allow.
		payload, tooLong := a.Payload()
		if _, err := parseInput(Event(a.Event), payload, tooLong); err != nil {
			return nil, &ask.Failure{Reason: err.Error()}
		}
	}
	return output, err
}

func receiveOutput(a *ask.Request) ([]byte, error) {
	if !a.Wait() {
		return nil, timeoutFailure(a)
	}
	if output, ok := a.Output(); ok {
		return output, nil
	}
	line, err := a.Reply()
	var fault *ask.Panic
	switch {
	case errors.As(err, &fault):
		return nil, panicFailure(fault.Value)
	case err != nil && a.Expired():
		return nil, timeoutFailure(a)
	case err != nil:
		return nil, err
	}
	return nil, replyFailure(a, line)
}

// timeoutFailure describes what the process was doing when its time ran out.
func timeoutFailure(a *ask.Request) error {
	within := a.TimeLimit.Round(time.Millisecond)
	switch a.Stage() {
	case ask.Reading:
		return &ask.Failure{Reason: fmt.Sprintf("codex sent no complete hook input within %s", within)}
	case ask.Connecting:
		return &ask.Failure{Reason: fmt.Sprintf("the bridge at %s was not reached within %s%s", a.Socket, within, ask.ReopenHint), NoBridge: true}
	}
	return noAnswerFailure(a)
}

func noAnswerFailure(a *ask.Request) error {
	return &ask.Failure{Reason: fmt.Sprintf("the bridge at %s gave no answer within %s; hooks.timeout in its configuration gives it longer",
		a.Socket, a.TimeLimit.Round(time.Millisecond)), NoBridge: true}
}

// replyFailure describes a reply without an output for Codex.
func replyFailure(a *ask.Request, line []byte) error {
	var m struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jrpc2.Error    `json:"error"`
	}
	switch err := json.Unmarshal(line, &m); {
	case err != nil:
		return notBridgeFailure(a, err)
	case m.Version != jrpc2.Version || string(m.ID) != "1":
		return notBridgeFailure(a, errors.New("it is not a response to the request"))
	case m.Error != nil:
		return errorFailure(a, m.Error)
	}
	return notBridgeFailure(a, errors.New("it has no output with the bridge's token"))
}

func notBridgeFailure(a *ask.Request, err error) error {
	return &ask.Failure{Reason: fmt.Sprintf("the process at %s is not this bridge, or has another version: %v%s", a.Socket, err, ask.ReopenHint)}
}

// unreadFailure is why the bridge could not read a call. It has logged that.
type unreadFailure string

func (f unreadFailure) Error() string { return string(f) }

// errorFailure converts the bridge's JSON-RPC error to a failure.
func errorFailure(a *ask.Request, rpcErr *jrpc2.Error) error {
	switch rpcErr.Code {
	case codeTimeout:
		return noAnswerFailure(a)
	case codeClosing:
		return &ask.Failure{Reason: rpcErr.Message + ask.ReopenHint, NoBridge: true}
	case codeRefused:
		return &ask.Failure{Reason: fmt.Sprintf("the bridge at %s rejected the request: %s%s", a.Socket, rpcErr.Message, ask.ReopenHint)}
	case jrpc2.InvalidParams:
		return unreadFailure(rpcErr.Message)
	}
	return notBridgeFailure(a, rpcErr)
}
