package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/creachadair/jrpc2"

	"codex-bridge.example/relay/hook/ask"
)

// awaitAnswer returns the bridge's answer, or an [ask.Failure]. It checks Codex's input
// only if no bridge answered; the bridge checks it otherwise.
func awaitAnswer(a *ask.Request) (Answer, error) {
	answer, err := receiveAnswer(a)
	var failure *ask.Failure
	if errors.As(err, &failure) && failure.NoBridge && a.Stage() > ask.Reading {
		// Input that can't be read is denied even with --on-failure allow.
		if _, err := ParseCall(Event(a.Event), a.Payload()); err != nil {
			return Answer{}, &ask.Failure{Reason: err.Error()}
		}
	}
	return answer, err
}

func receiveAnswer(a *ask.Request) (Answer, error) {
	if !a.Wait() {
		return Answer{}, timeoutFailure(a)
	}
	line, word, err := a.Reply()
	var fault *ask.Panic
	switch {
	case errors.As(err, &fault):
		return Answer{}, panicFailure(fault.Value)
	case err != nil && a.Expired():
		return Answer{}, timeoutFailure(a)
	case err != nil:
		return Answer{}, err
	}
	return parseReply(a, line, word)
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

// rpcResponse is a JSON-RPC response.
type rpcResponse struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *jrpc2.Error    `json:"error"`
}

// parseReply parses the bridge's reply. The reply must have the reply token, and an answer
// that Codex accepts for the event.
func parseReply(a *ask.Request, line []byte, word string) (Answer, error) {
	var m rpcResponse
	switch err := json.Unmarshal(line, &m); {
	case err != nil:
		return Answer{}, notBridgeFailure(a, err)
	case m.Version != jrpc2.Version || string(m.ID) != "1":
		return Answer{}, notBridgeFailure(a, errors.New("it is not a response to the request"))
	case m.Error != nil:
		return Answer{}, errorFailure(a, m.Error)
	}
	var r askResult
	dec := json.NewDecoder(bytes.NewReader(m.Result))
	dec.DisallowUnknownFields()
	switch err := dec.Decode(&r); {
	case err != nil:
		return Answer{}, notBridgeFailure(a, err)
	case !equalTokens(r.Token, word):
		return Answer{}, notBridgeFailure(a, errors.New("it does not know the bridge's token"))
	case r.Answer == nil:
		return Answer{}, notBridgeFailure(a, errors.New("it has no answer"))
	}
	if _, err := r.Answer.Encode(Event(a.Event)); err != nil {
		return Answer{}, notBridgeFailure(a, err)
	}
	return *r.Answer, nil
}

func notBridgeFailure(a *ask.Request, err error) error {
	return &ask.Failure{Reason: fmt.Sprintf("the process at %s is not this bridge, or has another version: %v%s", a.Socket, err, ask.ReopenHint)}
}

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
		return &ask.Failure{Reason: rpcErr.Message}
	}
	return notBridgeFailure(a, rpcErr)
}
