package turns

import (
	"context"
	"encoding/json"
	"time"

	sessions "codex-bridge/lifecycle/threads"
	"codex-bridge/rpc"
)

// address is whose turn a request is about: a session's, or a thread's.
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

// key is the line that requests for the address stand in.
func (a address) key() string {
	if a.session != "" {
		return "session " + a.session
	}
	return "thread " + a.thread
}

// resolved is a with the session that its thread belongs to, if there is one.
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

// timeout reads timeoutMs; 0 where it is left out.
func timeout(p rpc.Value) (time.Duration, error) {
	v := p.Get("timeoutMs")
	if !v.Exists() {
		return 0, nil
	}
	const most = 24 * time.Hour
	var ms int64
	if err := json.Unmarshal(v.Raw(), &ms); err != nil || ms < 1 || ms > most.Milliseconds() {
		return 0, invalid("params.timeoutMs: give a number of milliseconds, a day at the most")
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// word reads a text that may be left out.
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
