package threads

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/lifecycle/params"
	"codex-bridge.example/rpc"
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
	m, failed := cloned(call)
	if failed != nil {
		return failed
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
	// resumed are the parameters with which the thread would be resumed; settings and sandbox are
	// those that it had last.
	resumed, settings rpc.Value
	sandbox           policy.SandboxSettings
}

// answer answers the client. If the fork fails for any reason, the thread is resumed, and
// the client is warned.
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
	sandbox, err := r.narrow(ctx, id, answer.Root().Get("result").Get("sandbox"), s)
	if err != nil {
		return r.resume(ctx, s, err)
	}
	if _, err := r.peer.Call(ctx, "thread/inject_items", map[string]any{"threadId": id, "items": s.items}); err != nil {
		return r.resume(ctx, s, err) // the new one has run no turn: Codex keeps nothing of it
	}
	r.o.Log.Info("a thread is forked, since its tools are not those of today", "thread", s.id, "fork", id, "tools", strings.Join(s.stale, " "))
	r.aside.Reply(r.told(ctx, answer, s, sandbox))
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
	settings, sandbox := r.o.Settings(ctx, path)
	if settings == nil {
		return s, errForce
	}
	s.settings, s.sandbox = settings.Root(), sandbox
	if s.resumed, err = r.o.Resumed(ctx, r.m); err != nil {
		return s, err
	}
	s.items, err = r.o.History(path)
	return s, err
}

var errForce = errors.New("it is not known what its sandbox is, and when it asks")

// read returns a thread that Codex has recorded; Absent if there is none. A resume would
// fail then, too.
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
			r.o.Warn(s.id, "This thread goes on with the tools that it was started with. It could not be forked, since "+problem.Text(err)+".")
		})
	})
}

// start starts the new thread as the thread would be resumed: the policy has decided about the
// folder, the sandbox and the approvals of that request. Omitted settings are those that the thread
// had last. The response is that of the later features.
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
		keep(name, s.settings.Get(name))
	}
	if setting.IsSandbox(s.sandbox.Mode) && !namesSandbox(s.resumed) {
		was["sandbox"] = rpc.Encode(s.sandbox.Mode)
	}
	if t := r.o.Thread(); t.On && t.ServiceName != "" {
		was["serviceName"] = rpc.Encode(t.ServiceName) // the instructions are in the history
	}
	text, err := params.ThreadFork(s.resumed.Raw(), was, s.own)
	if err != nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "thread/resume: %v", err)
	}
	m, err := message(r.m.ID, "thread/start", text)
	if err != nil {
		return nil, internal(err)
	}
	r.aside.FolderAdded = true // a thread/resume trusts no project
	err = r.aside.Call(ctx, m, func(a *bridge.ServerResponse) {
		line = append([]byte(nil), a.Line...)
		a.Withhold()
	})
	return line, err
}

// namesSandbox reports whether the parameters of a request that opens a thread name its sandbox.
func namesSandbox(p rpc.Value) bool {
	for _, name := range []string{"sandbox", "permissions"} {
		if v := p.Get(name); v.Exists() && v.Kind() != rpc.Null {
			return true
		}
	}
	return false
}

// narrow takes from the new thread the network and the temporary folders that the old one did not
// have: thread/start has no field for them. It returns the new thread's sandbox, nil if that was as
// narrow before or the client has named it.
func (r *fork) narrow(ctx context.Context, id string, has rpc.Value, s source) (json.RawMessage, error) {
	if namesSandbox(r.m.Params) || !has.Get("type").Is("workspaceWrite") || s.sandbox.Mode != setting.WorkspaceWrite {
		return nil, nil
	}
	sandbox, changed := make(map[string]json.RawMessage), false
	for name, v := range has.Members() {
		sandbox[name] = v.Raw()
	}
	for name, was := range map[string]bool{"networkAccess": s.sandbox.Network, "excludeTmpdirEnvVar": s.sandbox.NoTmpdir, "excludeSlashTmp": s.sandbox.NoSlashTmp} {
		is, _ := has.Get(name).Bool()
		if narrow := name != "networkAccess"; is != was && was == narrow {
			sandbox[name], changed = rpc.Encode(was), true
		}
	}
	if !changed {
		return nil, nil
	}
	narrowed := rpc.Encode(sandbox)
	m, err := message(r.m.ID, "thread/settings/update", rpc.Encode(map[string]any{"threadId": id, "sandboxPolicy": narrowed}))
	if err != nil {
		return nil, err
	}
	var failed *rpc.Error
	err = r.aside.Call(ctx, m, func(a *bridge.ServerResponse) {
		a.Withhold()
		if !a.Result().Exists() {
			failed = rpc.Errorf(rpc.CodeUpstream, "Codex does not change its sandbox")
		}
	})
	if err == nil && failed != nil {
		err = failed
	}
	return narrowed, err
}

// told is the answer to thread/resume: the new thread, with the turns that its history is
// made of, which Codex does not list under it.
func (r *fork) told(ctx context.Context, answer *rpc.Envelope, s source, sandbox json.RawMessage) []byte {
	thread := answer.Root().Get("result").Get("thread")
	patch := rpc.NewEnvelopePatch(answer)
	if sandbox != nil {
		patch.Set(answer.Root().Get("result"), "sandbox", sandbox)
	}
	patch.Set(thread, "forkedFromId", rpc.Encode(s.id))
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
