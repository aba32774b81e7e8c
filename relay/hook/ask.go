package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/creachadair/jrpc2"
)

// A process tries for patience, with a pause between two tries, to reach a bridge that
// is not there: it may be starting, or have too much to do.
const (
	pause    = 25 * time.Millisecond
	patience = 250 * time.Millisecond
)

// failure is what keeps a process from an answer.
type failure struct {
	reason string
	absent bool // no bridge answers; else something is wrong
}

func (f *failure) Error() string { return f.reason }

const reopen = "; open the thread anew, and restart the editor if that does not help"

// stage is what a process is at.
type stage int32

const (
	reading stage = iota
	reaching
	waiting
)

// late is the failure of a process that is still at the stage when its time is up.
func (s stage) late(f flags, after time.Duration) *failure {
	within := after.Round(time.Millisecond)
	switch s {
	case reading:
		return &failure{fmt.Sprintf("codex did not say within %s what is called", within), false}
	case reaching:
		return &failure{fmt.Sprintf("the bridge at %s was not reached within %s%s", f.socket, within, reopen), true}
	}
	return &failure{fmt.Sprintf("the bridge at %s gave no answer within %s; hooks.timeout in its configuration gives it longer", f.socket, within), true}
}

// asker asks a bridge.
type asker struct {
	flags
	span     time.Duration // what it may take
	deadline time.Time
	at       atomic.Int32 // stage
}

// ask reads what Codex says and has the bridge decide. Its errors are failures.
func (a *asker) ask(stdin io.Reader) (Answer, error) {
	payload, err := io.ReadAll(io.LimitReader(stdin, MaxPayload+1))
	if err == nil {
		_, err = ParseCall(a.event, payload) // a bridge is no help with what can't be read
	} else {
		err = fmt.Errorf("what codex says can't be read: %w", err)
	}
	if err != nil {
		return Answer{}, &failure{err.Error(), false}
	}
	a.at.Store(int32(reaching))
	l, err := a.reach()
	if err != nil {
		return Answer{}, err
	}
	defer l.conn.Close() //nolint:errcheck // what it said has been heard
	a.at.Store(int32(waiting))
	return a.put(l, payload)
}

// link is a bridge that was reached.
type link struct {
	conn   *wire
	secret secret
}

// reach connects to the bridge, and reads its token.
func (a *asker) reach() (*link, error) {
	for start := time.Now(); ; {
		conn, err := dial(a.socket, a.deadline)
		if err == nil {
			s, err := readSecret(filepath.Join(filepath.Dir(a.socket), tokenName))
			if err == nil {
				err = conn.SetDeadline(a.deadline)
			}
			if err != nil {
				conn.Close()
				return nil, &failure{err.Error() + reopen, false}
			}
			w := newWire(conn, maxReply)
			w.drain = true
			return &link{w, s}, nil
		}
		if !again(err) {
			return nil, &failure{fmt.Sprintf("the bridge's socket can't be used: %v%s", err, reopen), false}
		}
		if now := time.Now(); now.Sub(start) > patience || now.Add(pause).After(a.deadline) {
			return nil, &failure{fmt.Sprintf("no bridge is at %s: %v; it has ended, or another one has taken its place%s", a.socket, err, reopen), true}
		}
		time.Sleep(pause)
	}
}

// put asks and checks the answer: it is taken only from who knows the second word of
// the token, and as strictly as Codex takes it.
func (a *asker) put(l *link, payload []byte) (Answer, error) {
	ctx, cancel := context.WithDeadline(context.Background(), a.deadline)
	defer cancel()
	client := jrpc2.NewClient(l.conn, nil)
	defer client.Close() //nolint:errcheck // the same
	left := max(time.Until(a.deadline).Milliseconds(), 1)
	rsp, err := client.Call(ctx, method, question{l.secret.ask, a.event, left, payload})
	if err != nil {
		return Answer{}, a.unanswered(l.conn, err)
	}
	var r reply
	var raw json.RawMessage
	if err = rsp.UnmarshalResult(&raw); err == nil {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		err = dec.Decode(&r)
	}
	switch {
	case err != nil:
		return Answer{}, a.strange(err)
	case !same(r.Token, l.secret.answer):
		return Answer{}, a.strange(errors.New("it does not know the bridge's token"))
	case r.Answer == nil:
		return Answer{}, a.strange(errors.New("it holds no answer"))
	}
	if _, err := r.Answer.Output(a.event); err != nil {
		return Answer{}, a.strange(err)
	}
	return *r.Answer, nil
}

func (a *asker) strange(err error) error {
	return &failure{fmt.Sprintf("what answers at %s is not the bridge, or one of another version: %v%s", a.socket, err, reopen), false}
}

// unanswered tells apart why there is no result.
func (a *asker) unanswered(w *wire, err error) error {
	var said *jrpc2.Error
	switch {
	case errors.As(err, &said) && said.Code == codeLate, !time.Now().Before(a.deadline):
		return waiting.late(a.flags, a.span)
	case w.lost.Load() && !w.heard.Load():
		return &failure{fmt.Sprintf("the bridge at %s ended before it answered%s", a.socket, reopen), true}
	case errors.As(err, &said) && said.Code == codeClosing:
		return &failure{said.Message + reopen, true}
	case errors.As(err, &said) && said.Code == codeRefused:
		return &failure{fmt.Sprintf("the bridge at %s refuses: %s%s", a.socket, said.Message, reopen), false}
	case errors.As(err, &said) && said.Code == jrpc2.InvalidParams:
		return &failure{said.Message, false}
	}
	return a.strange(err)
}
