package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"codex-bridge/bridge"
	"codex-bridge/relay/tools"
	"codex-bridge/rpc"
)

// starts adds the tools to a thread/start.
func (f *Feature) starts(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
	if call.Kind != rpc.Request || !f.offers() {
		return nil
	}
	m, err := rpc.ParseMessage(call.Line) // as the features before have left it
	if err != nil {
		return rpc.Errorf(rpc.CodeInternal, "%s as it was rewritten can't be read: %v", call.Method, err)
	}
	if m.Params.Kind() != rpc.Object {
		return nil
	}
	if m.Truncated() {
		return rpc.Errorf(rpc.CodeTooLarge, "%s has more values than are looked at; send less", call.Method)
	}
	list := m.Params.Get("dynamicTools")
	var sent json.RawMessage
	if list.Kind() != rpc.Absent && list.Kind() != rpc.Null {
		sent = list.Raw()
	}
	theirs, all, host, err := f.merged(sent)
	if err != nil {
		return wrong(call.Method, err)
	}
	if !bytes.Equal(all, sent) {
		patch := rpc.NewPatch(m)
		patch.Set(m.Params, "dynamicTools", all)
		call.Line = patch.Bytes()
	}
	mine := map[name]bool{}
	for _, n := range tools.Names(theirs) {
		mine[name{n.Namespace, n.Name}] = true
	}
	print, kept := host.Fingerprint(), bytes.Clone(sent)
	call.OnResponse(func(a *bridge.ServerResponse) {
		if id, cwd, ok := opened(a); ok {
			f.threads.put(id, &thread{cwd: cwd, own: mine, print: print})
			f.threads.sends(kept)
		}
	})
	return nil
}

// offers tells whether a thread is offered more than the client's own.
func (f *Feature) offers() bool {
	return f.experiment.on.Load() && (f.configured || len(f.registered.offer().Tools) > 0)
}

// merged is what a client names with what it has registered, and all of it with the
// host's. It waits for servers that are starting.
func (f *Feature) merged(sent json.RawMessage) (theirs, all json.RawMessage, host *tools.Snapshot, err error) {
	host = &tools.Snapshot{}
	if f.configured {
		host = f.catalogue.Refresh()
	}
	if theirs, err = f.registered.offer().Merge(sent); err != nil {
		return nil, nil, nil, err
	}
	all, err = host.Merge(theirs)
	return theirs, all, host, err
}

// Offered is what Codex is sent for the dynamicTools of a thread/start; nil: none. It may
// wait some seconds for servers that are starting.
func (f *Feature) Offered(sent json.RawMessage) (json.RawMessage, error) {
	if !f.offers() {
		return sent, nil
	}
	_, all, _, err := f.merged(sent)
	return all, err
}

// wrong is an error that names the tool and where it comes from.
func wrong(method string, err error) *rpc.Error {
	return rpc.Errorf(rpc.CodeInvalidParams, "%s: %v", method, err)
}

// reopens takes note of a thread that codex knows.
func (f *Feature) reopens(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
	if call.Kind != rpc.Request {
		return nil
	}
	from, _ := call.Params.Get("threadId").Text()
	resumes := call.Method == "thread/resume" && !f.o.Forked()
	call.OnResponse(func(a *bridge.ServerResponse) {
		id, cwd, ok := opened(a)
		if !ok {
			return
		}
		known := f.threads.reopened(from, id, cwd, f.catalogue.Last().Fingerprint())
		path, _ := a.Result().Get("thread").Get("path").Text()
		if !known && resumes && path != "" {
			a.AfterSent(func() { f.tasks.Go(func() { f.check(id, path) }) })
		} else if !known {
			f.threads.checked(id, f.catalogue.Last().Fingerprint())
		}
	})
	return nil
}

func opened(a *bridge.ServerResponse) (id, cwd string, ok bool) {
	id, ok = a.Result().Get("thread").Get("id").Text()
	cwd, _ = a.Result().Get("cwd").Text()
	return id, cwd, ok
}

// turns takes note of a turn in another folder, where the thread stays once Codex has taken
// the turn.
func (f *Feature) turns(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
	id, _ := call.Params.Get("threadId").Text()
	if cwd, ok := call.Params.Get("cwd").Text(); ok && cwd != "" && call.Kind == rpc.Request {
		call.OnResponse(func(a *bridge.ServerResponse) {
			if a.Outcome() == bridge.Succeeded {
				f.threads.moves(id, cwd)
			}
		})
	}
	return nil
}

// closed forgets a thread.
func (f *Feature) closed(_ context.Context, said *bridge.ServerMessage) {
	if id, ok := said.Root().Get("params").Get("threadId").Text(); ok {
		f.running.end(func(c *callUnderWay) bool { return c.thread == id })
		f.threads.forget(id)
	}
}

// tell has the client hear that threads go on with other tools than there are now.
func (f *Feature) tell(o *tools.Snapshot) {
	n := f.threads.outdated(o.Fingerprint())
	if n == 0 {
		return
	}
	f.o.Log.Warn("the host's tools have changed; threads go on with those they were started with", "threads", n, "tools", len(o.Tools))
	if f.peer.OptedOut(warning) {
		return
	}
	f.peer.Notify(warning, map[string]any{
		"summary": "The tools of codex-bridge have changed.",
		"details": fmt.Sprintf("There are %d now. Threads that are open: %d. They go on with the tools they were started with, of which a call of one that is gone fails; "+
			"start a new thread for the others.", len(o.Tools), n),
	})
}
