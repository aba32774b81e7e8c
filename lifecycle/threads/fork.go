package threads

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"codex-bridge/bridge"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/setting"
	"codex-bridge/lifecycle/params"
	"codex-bridge/rpc"
)

// forks tells whether a client's request may end in a fork.
func (f *Feature) forks(call *bridge.ClientMessage) bool {
	return call.Method == "thread/resume" && f.o.Kept != nil && f.o.Thread().OnStaleTools == config.Fork && !call.Truncated()
}

// forking has a request answered by a fork where that may be.
func (f *Feature) forking(call *bridge.ClientMessage) *rpc.Error {
	if !f.forks(call) {
		return nil
	}
	m, err := rpc.ParseMessage(bytes.Clone(call.Bytes()))
	if err != nil { // it was parsed once
		return internal(err)
	}
	call.HandleAsync(func(ctx context.Context, aside *bridge.AsyncRequest) {
		r := &fork{Feature: f, m: m, aside: aside}
		if err := r.answer(ctx); err != nil {
			aside.Reply(rpc.EncodeError(m.ID, err))
		}
	})
	return nil
}

// fork is one thread/resume of a client that would rather have today's tools than the very
// thread. Codex gives tools to a new thread only (measured: thread/resume and thread/fork
// ignore them), so that it is a new one, which is told the history of the other.
type fork struct {
	*Feature
	m     *rpc.Message
	aside *bridge.AsyncRequest
}

// source is the thread that the client has asked for, as Codex describes it.
type source struct {
	id     string
	thread rpc.Value
	stale  []string
	own    json.RawMessage // the client's tools
	items  []json.RawMessage
	force  rpc.Value // what was in force in it last
}

// answer answers the client. Whatever keeps the thread from being forked, it is resumed
// then, and the client is warned.
func (r *fork) answer(ctx context.Context) error {
	s, err := r.source(ctx)
	if err != nil {
		return r.resume(ctx, s, err)
	}
	if len(s.stale) == 0 {
		return r.resume(ctx, s, nil)
	}
	line, err := r.start(ctx, s)
	if err != nil {
		return err // policy, or codex itself, refuses to open a thread so
	}
	answer, err := rpc.ParseEnvelope(line)
	if err != nil { // it was read once
		return internal(err)
	}
	if !answer.Root().Get("result").Exists() {
		r.aside.Reply(line)
		return nil
	}
	id := said(answer).Thread
	if _, err := r.peer.Call(ctx, "thread/inject_items", map[string]any{"threadId": id, "items": s.items}); err != nil {
		return r.resume(ctx, s, err) // the new one has run no turn: Codex keeps nothing of it
	}
	r.o.Log.Info("a thread is forked, since its tools are not those of today", "thread", s.id, "fork", id, "tools", strings.Join(s.stale, " "))
	r.aside.Reply(r.told(ctx, answer, s))
	r.o.Warn(id, "This thread goes on from "+s.id+", which was started with other tools. Since then there were changes to: "+strings.Join(s.stale, ", ")+".")
	return nil
}

// source finds out about the thread. One that is open stays as it is: it may be in the
// middle of a turn.
func (r *fork) source(ctx context.Context) (s source, err error) {
	s.id, _ = r.m.Params.Get("threadId").Text()
	if s.id == "" || r.m.Params.Get("path").Exists() || r.m.Params.Get("history").Exists() {
		return s, nil
	}
	s.thread = r.read(ctx, s.id)
	path, _ := s.thread.Get("path").Text()
	if path == "" || !s.thread.Get("status").Get("type").Is("notLoaded") {
		return s, nil
	}
	if s.stale, s.own, err = r.o.Kept(path); err != nil || len(s.stale) == 0 {
		return s, err
	}
	doc := r.o.Settings(path)
	if doc == nil {
		return s, errForce
	}
	s.force = doc.Root()
	s.items, err = r.o.History(path)
	return s, err
}

var errForce = errors.New("it is not known what its sandbox is, and when it asks")

// read is a thread that is on record; Absent when Codex knows none, which it says to a
// resume, too.
func (r *fork) read(ctx context.Context, id string) rpc.Value {
	result, err := r.peer.Call(ctx, "thread/read", map[string]any{"threadId": id})
	if err != nil {
		return rpc.Value{}
	}
	return result.Get("thread")
}

// resume does what the client has asked for. err is why it is not a fork.
func (r *fork) resume(ctx context.Context, s source, err error) error {
	return r.aside.Call(ctx, r.m, func(a *bridge.ServerResponse) {
		if err == nil || !a.Result().Exists() {
			return
		}
		r.o.Log.Warn("a thread can't be forked; it goes on with the tools that it was started with", "thread", s.id, "error", err)
		a.AfterSent(func() {
			r.o.Warn(s.id, "This thread goes on with the tools that it was started with. It could not be forked, since "+err.Error()+".")
		})
	})
}

// start starts the new thread. The answer is as the features behind have left it.
func (r *fork) start(ctx context.Context, s source) (line []byte, err error) {
	was := make(map[string]json.RawMessage)
	keep := func(name string, v rpc.Value) {
		if text, ok := v.Text(); text != "" || !ok && v.Kind() == rpc.Object {
			was[name] = v.Raw()
		}
	}
	for _, name := range []string{"cwd", "model", "modelProvider"} {
		keep(name, s.thread.Get(name))
	}
	for _, name := range []string{"approvalPolicy", "approvalsReviewer"} {
		keep(name, s.force.Get(name))
	}
	kind, _ := s.force.Get("sandboxPolicy").Get("type").Text()
	if mode := setting.ThreadSandbox(kind); mode != "" && !r.m.Params.Get("permissions").Exists() {
		was["sandbox"] = encode(mode)
	}
	if t := r.o.Thread(); t.On && t.ServiceName != "" {
		was["serviceName"] = encode(t.ServiceName) // the instructions are in the history
	}
	text, err := params.ThreadFork(r.m.Params.Raw(), was, s.own)
	if err != nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "thread/resume: %v", err)
	}
	m, err := message(r.m.ID, "thread/start", text)
	if err != nil {
		return nil, internal(err)
	}
	err = r.aside.Call(ctx, m, func(a *bridge.ServerResponse) {
		line = append([]byte(nil), a.Line...)
		a.Withhold()
	})
	return line, err
}

// told is the answer to thread/resume: the new thread, with the turns that its history is
// made of, which Codex does not list under it.
func (r *fork) told(ctx context.Context, answer *rpc.Envelope, s source) []byte {
	thread := answer.Root().Get("result").Get("thread")
	patch := rpc.NewEnvelopePatch(answer)
	patch.Set(thread, "forkedFromId", encode(s.id))
	for _, name := range []string{"name", "preview"} {
		if v := s.thread.Get(name); v.Exists() {
			patch.Set(thread, name, v.Raw())
		}
	}
	if without, _ := r.m.Params.Get("excludeTurns").Bool(); !without {
		read, err := r.peer.Call(ctx, "thread/read", map[string]any{"threadId": s.id, "includeTurns": true})
		if turns := read.Get("thread").Get("turns"); err == nil && turns.Kind() == rpc.Array {
			patch.Set(thread, "turns", turns.Raw())
		}
	}
	return patch.Bytes()
}
