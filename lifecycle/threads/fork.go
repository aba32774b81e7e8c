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

// mayFork reports whether a fork may answer a client's request.
func (f *Feature) mayFork(call *bridge.ClientMessage) bool {
	return call.Method == "thread/resume" && f.o.StaleTools != nil && f.o.Thread().OnStaleTools == config.Fork && !call.Truncated()
}

// forkIfStale handles a request that a fork may answer.
func (f *Feature) forkIfStale(call *bridge.ClientMessage) *rpc.Error {
	if !f.mayFork(call) {
		return nil
	}
	m, failed := cloneRequest(call)
	if failed != nil {
		return failed
	}
	call.HandleAsync(func(ctx context.Context, async *bridge.AsyncRequest) {
		r := &fork{Feature: f, message: m, async: async}
		if err := r.respond(ctx); err != nil {
			async.Reply(rpc.EncodeError(m.ID, err))
		}
	})
	return nil
}

// fork is one thread/resume under thread.on_stale_tools = "fork". Measured: Codex gives tools to a new thread
// only; thread/resume and thread/fork ignore them. So the fork is a new thread with the history of the other.
type fork struct {
	*Feature
	message *rpc.Message
	async   *bridge.AsyncRequest
}

// source is the thread that the request names, as Codex describes it.
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

// respond answers the client. If the fork fails, it resumes the thread and warns the client.
func (r *fork) respond(ctx context.Context) error {
	s, err := r.source(ctx)
	if err != nil {
		return r.resume(ctx, s, err)
	}
	if len(s.stale) == 0 {
		return r.resume(ctx, s, nil)
	}
	line, err := r.start(ctx, s)
	if err != nil {
		return err // the policy or Codex refuses the thread
	}
	response, err := rpc.ParseEnvelope(line)
	if err != nil { // impossible: it was parsed before
		return internal(err)
	}
	if !response.Root().Get("result").Exists() {
		r.async.Reply(line)
		return nil
	}
	id := threadResponse(response).Thread
	sandbox, err := r.narrow(ctx, id, response.Root().Get("result").Get("sandbox"), s)
	if err != nil {
		return r.resume(ctx, s, err)
	}
	if _, err := r.peer.Call(ctx, "thread/inject_items", map[string]any{"threadId": id, "items": s.items}); err != nil {
		return r.resume(ctx, s, err) // Codex stores no thread without a turn
	}
	r.o.Log.Info("a thread is forked, since its tools are not those of today", "thread", s.id, "fork", id, "tools", strings.Join(s.stale, " "))
	r.async.Reply(r.response(ctx, response, s, sandbox))
	r.o.Warn(id, "This thread goes on from "+s.id+", which was started with other tools. Since then there were changes to: "+strings.Join(s.stale, ", ")+".")
	return nil
}

// source reads the thread from Codex and from its rollout file. It does so for an unloaded thread only, since a
// loaded one may be in a turn.
func (r *fork) source(ctx context.Context) (s source, err error) {
	s.id, _ = r.message.Params.Get("threadId").Text()
	if s.id == "" || r.message.Params.Get("path").Exists() || r.message.Params.Get("history").Exists() {
		return s, nil
	}
	s.thread = r.read(ctx, s.id)
	path, _ := s.thread.Get("path").Text()
	if path == "" || !s.thread.Get("status").Get("type").Is("notLoaded") {
		return s, nil
	}
	if s.stale, s.own, err = r.o.StaleTools(path); err != nil || len(s.stale) == 0 {
		return s, err
	}
	settings, sandbox := r.o.Settings(ctx, path)
	if settings == nil {
		return s, errUnknownLimits
	}
	s.settings, s.sandbox = settings.Root(), sandbox
	if s.resumed, err = r.o.Resumed(ctx, r.message); err != nil {
		return s, err
	}
	s.items, err = r.o.History(path)
	return s, err
}

var errUnknownLimits = errors.New("its sandbox and approval policy are not known")

// read returns a thread that Codex has recorded; an absent value if there is none. Then a resume fails, too.
func (r *fork) read(ctx context.Context, id string) rpc.Value {
	result, err := r.peer.Call(ctx, "thread/read", map[string]any{"threadId": id})
	if err != nil {
		return rpc.Value{}
	}
	return result.Get("thread")
}

// resume forwards the client's request. err is the reason why the thread is not forked; nil if it need not be.
func (r *fork) resume(ctx context.Context, s source, err error) error {
	return r.async.Call(ctx, r.message, func(a *bridge.ServerResponse) {
		if err == nil || !a.Result().Exists() {
			return
		}
		r.o.Log.Warn("a thread can't be forked; it goes on with the tools that it was started with", "thread", s.id, "error", err)
		a.AfterSent(func() {
			r.o.Warn(s.id, "This thread goes on with the tools that it was started with. It could not be forked, since "+problem.Text(err)+".")
		})
	})
}

// start starts the new thread with the parameters of the resume, in which the policy has decided the folder, the
// sandbox and the approval policy. Omitted settings are the last ones of the thread. It returns the response
// of the later features.
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
	m, err := message(r.message.ID, "thread/start", text)
	if err != nil {
		return nil, internal(err)
	}
	r.async.FolderAdded = true // a thread/resume trusts no project
	err = r.async.Call(ctx, m, func(a *bridge.ServerResponse) {
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
	if namesSandbox(r.message.Params) || !has.Get("type").Is("workspaceWrite") || s.sandbox.Mode != setting.WorkspaceWrite {
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
	m, err := message(r.message.ID, "thread/settings/update", rpc.Encode(map[string]any{"threadId": id, "sandboxPolicy": narrowed}))
	if err != nil {
		return nil, err
	}
	var failed *rpc.Error
	err = r.async.Call(ctx, m, func(a *bridge.ServerResponse) {
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

// response returns the response to thread/resume: the new thread, with the turns of the old one, which Codex does
// not list in the new one.
func (r *fork) response(ctx context.Context, response *rpc.Envelope, s source, sandbox json.RawMessage) []byte {
	thread := response.Root().Get("result").Get("thread")
	patch := rpc.NewEnvelopePatch(response)
	if sandbox != nil {
		patch.Set(response.Root().Get("result"), "sandbox", sandbox)
	}
	patch.Set(thread, "forkedFromId", rpc.Encode(s.id))
	for _, name := range []string{"name", "preview"} {
		if v := s.thread.Get(name); v.Exists() {
			patch.Set(thread, name, v.Raw())
		}
	}
	if without, _ := r.message.Params.Get("excludeTurns").Bool(); !without {
		read, err := r.peer.Call(ctx, "thread/read", map[string]any{"threadId": s.id, "includeTurns": true})
		if turns := read.Get("thread").Get("turns"); err == nil && turns.Kind() == rpc.Array {
			patch.Set(thread, "turns", turns.Raw())
		}
	}
	return patch.Bytes()
}
