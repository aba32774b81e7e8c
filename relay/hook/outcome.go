package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/creachadair/jrpc2"

	"codex-bridge/relay/hook/ask"
)

// outcome is what comes of a question: the answer, or a Failure. What Codex says is looked
// at only where there is no answer: the bridge has judged it otherwise.
func outcome(a *ask.Asking) (Answer, error) {
	answer, err := heard(a)
	var failure *ask.Failure
	if errors.As(err, &failure) && failure.Absent && a.Stage() > ask.Reading {
		// A bridge is no help with what can't be read.
		if _, err := ParseCall(Event(a.Event), a.Payload()); err != nil {
			return Answer{}, &ask.Failure{Reason: err.Error()}
		}
	}
	return answer, err
}

func heard(a *ask.Asking) (Answer, error) {
	if !a.Wait() {
		return Answer{}, late(a)
	}
	line, word, err := a.Outcome()
	var fault *ask.Fault
	switch {
	case errors.As(err, &fault):
		return Answer{}, broken(fault.Value)
	case err != nil && a.Expired():
		return Answer{}, late(a)
	case err != nil:
		return Answer{}, err
	}
	return read(a, line, word)
}

// late is the failure of a process whose time is up.
func late(a *ask.Asking) error {
	within := a.Span.Round(time.Millisecond)
	switch a.Stage() {
	case ask.Reading:
		return &ask.Failure{Reason: fmt.Sprintf("codex did not say within %s what is called", within)}
	case ask.Reaching:
		return &ask.Failure{Reason: fmt.Sprintf("the bridge at %s was not reached within %s%s", a.Socket, within, ask.Reopen), Absent: true}
	}
	return unanswered(a)
}

func unanswered(a *ask.Asking) error {
	return &ask.Failure{Reason: fmt.Sprintf("the bridge at %s gave no answer within %s; hooks.timeout in its configuration gives it longer",
		a.Socket, a.Span.Round(time.Millisecond)), Absent: true}
}

// response is an answer of JSON-RPC.
type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *jrpc2.Error    `json:"error"`
}

// read checks the answer: it is taken only from who knows the second word of the token,
// and as strictly as Codex takes it.
func read(a *ask.Asking, line []byte, word string) (Answer, error) {
	var m response
	switch err := json.Unmarshal(line, &m); {
	case err != nil:
		return Answer{}, strange(a, err)
	case m.Version != jrpc2.Version || string(m.ID) != "1":
		return Answer{}, strange(a, errors.New("it answers something else"))
	case m.Error != nil:
		return Answer{}, refusal(a, m.Error)
	}
	var r reply
	dec := json.NewDecoder(bytes.NewReader(m.Result))
	dec.DisallowUnknownFields()
	switch err := dec.Decode(&r); {
	case err != nil:
		return Answer{}, strange(a, err)
	case !same(r.Token, word):
		return Answer{}, strange(a, errors.New("it does not know the bridge's token"))
	case r.Answer == nil:
		return Answer{}, strange(a, errors.New("it holds no answer"))
	}
	if _, err := r.Answer.Output(Event(a.Event)); err != nil {
		return Answer{}, strange(a, err)
	}
	return *r.Answer, nil
}

func strange(a *ask.Asking, err error) error {
	return &ask.Failure{Reason: fmt.Sprintf("what answers at %s is not the bridge, or one of another version: %v%s", a.Socket, err, ask.Reopen)}
}

// refusal tells apart why there is no result.
func refusal(a *ask.Asking, said *jrpc2.Error) error {
	switch said.Code {
	case codeLate:
		return unanswered(a)
	case codeClosing:
		return &ask.Failure{Reason: said.Message + ask.Reopen, Absent: true}
	case codeRefused:
		return &ask.Failure{Reason: fmt.Sprintf("the bridge at %s refuses: %s%s", a.Socket, said.Message, ask.Reopen)}
	case jrpc2.InvalidParams:
		return &ask.Failure{Reason: said.Message}
	}
	return strange(a, said)
}
