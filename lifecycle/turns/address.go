package turns

import (
	"context"
	"encoding/json"
	"time"

	sessions "codex-bridge.example/lifecycle/threads"
	"codex-bridge.example/rpc"
)

// address names the session or the thread of a request.
type address struct{ session, thread string }

// addressOf reads sessionKey or threadId.
func addressOf(p rpc.Value) (address, error) {
	session, hasSession := p.Get("sessionKey").Text()
	thread, hasThread := p.Get("threadId").Text()
	switch {
	case p.Get("sessionKey").Exists() && !hasSession, p.Get("threadId").Exists() && !hasThread:
		return address{}, invalid("params: sessionKey and threadId are texts")
	case (session == "") == (thread == ""):
		return address{}, invalid("params: give one of sessionKey and threadId")
	}
	if hasSession {
		if err := sessions.CheckSessionKey(session); err != nil {
			return address{}, invalid("params.sessionKey: %v", err)
		}
	}
	return address{session, thread}, nil
}

// key returns the key of the address in a turn.Queue.
func (a address) key() string {
	if a.session != "" {
		return "session " + a.session
	}
	return "thread " + a.thread
}

// resolved returns a with the session of its thread, if there is one.
func (f *Feature) resolved(ctx context.Context, a address) (address, error) {
	if a.session != "" {
		return a, nil
	}
	session, err := f.o.Threads.SessionOf(ctx, a.thread)
	if err != nil {
		return a, err
	}
	return address{session: session, thread: a.thread}, nil
}

// timeout reads timeoutMs. It returns 0 if it is absent.
func timeout(p rpc.Value) (time.Duration, error) {
	v := p.Get("timeoutMs")
	if !v.Exists() {
		return 0, nil
	}
	const maxTimeout = 24 * time.Hour
	var ms int64
	if err := json.Unmarshal(v.Raw(), &ms); err != nil || ms < 1 || ms > maxTimeout.Milliseconds() {
		return 0, invalid("params.timeoutMs: give a number of milliseconds, a day at the most")
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// word reads an optional string that must not be empty.
func word(p rpc.Value, name string) (string, error) {
	v := p.Get(name)
	if !v.Exists() || v.Kind() == rpc.Null {
		return "", nil
	}
	text, ok := v.Text()
	if !ok || text == "" {
		return "", invalid("params.%s: it is %v; give a text, or leave it out", name, v.Kind())
	}
	return text, nil
}
