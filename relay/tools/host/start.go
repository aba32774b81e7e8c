package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"codex-bridge.example/bridge"
	"codex-bridge.example/relay/tools"
	"codex-bridge.example/rpc"
)

// addTools adds the tools to a thread/start.
func (f *Feature) addTools(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
	if call.Kind != rpc.Request || !f.addsTools() {
		return nil
	}
	m, err := rpc.ParseMessage(call.Line) // earlier features may have rewritten it
	if err != nil {
		return rpc.Errorf(rpc.CodeInternal, "the rewritten %s can't be parsed: %v", call.Method, err)
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
	theirs, all, host, err := f.merge(sent)
	if err != nil {
		return invalidParams(call.Method, err)
	}
	if !bytes.Equal(all, sent) {
		patch := rpc.NewPatch(m)
		patch.Set(m.Params, "dynamicTools", all)
		call.Line = patch.Bytes()
	}
	mine := map[tools.Name]bool{}
	for _, n := range tools.Names(theirs) {
		mine[n] = true
	}
	print, kept := host.Fingerprint(), bytes.Clone(sent)
	call.OnResponse(func(a *bridge.ServerResponse) {
		if id, cwd, ok := openedThread(a); ok {
			f.threads.put(id, &thread{cwd: cwd, clientTools: mine, fingerprint: print})
			f.threads.setClientTools(kept)
		}
	})
	return nil
}

// addsTools reports whether threads get more tools than the client sends.
func (f *Feature) addsTools() bool {
	return f.experiment.on.Load() && (f.configured || len(f.registered.current().Tools) > 0)
}

// merge returns the client's tools with the registered ones, and those with the host's. It
// waits for starting servers.
func (f *Feature) merge(sent json.RawMessage) (theirs, all json.RawMessage, host *tools.Snapshot, err error) {
	host = &tools.Snapshot{}
	if f.configured {
		host = f.catalogue.Refresh()
	}
	if theirs, err = f.registered.current().Merge(sent); err != nil {
		return nil, nil, nil, err
	}
	all, err = host.Merge(theirs)
	return theirs, all, host, err
}

// OfferedTools returns the dynamicTools that Codex gets for a client's; nil: none. It may
// wait some seconds for starting servers.
func (f *Feature) OfferedTools(sent json.RawMessage) (json.RawMessage, error) {
	if !f.addsTools() {
		return sent, nil
	}
	_, all, _, err := f.merge(sent)
	return all, err
}

// invalidParams returns a JSON-RPC error that names the tool and its origin.
func invalidParams(method string, err error) *rpc.Error {
	return rpc.Errorf(rpc.CodeInvalidParams, "%s: %v", method, err)
}

// handleReopen records a resumed or forked thread.
func (f *Feature) handleReopen(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
	if call.Kind != rpc.Request {
		return nil
	}
	from, _ := call.Params.Get("threadId").Text()
	resumes := call.Method == "thread/resume" && !f.options.Forked()
	call.OnResponse(func(a *bridge.ServerResponse) {
		id, cwd, ok := openedThread(a)
		if !ok {
			return
		}
		known := f.threads.addReopened(from, id, cwd, f.catalogue.Last().Fingerprint())
		path, _ := a.Result().Get("thread").Get("path").Text()
		if !known && resumes && path != "" {
			a.AfterSent(func() { f.tasks.Go(func() { f.warnIfStale(id, path) }) })
		} else if !known {
			f.threads.setChecked(id, f.catalogue.Last().Fingerprint())
		}
	})
	return nil
}

func openedThread(a *bridge.ServerResponse) (id, cwd string, ok bool) {
	id, ok = a.Result().Get("thread").Get("id").Text()
	cwd, _ = a.Result().Get("cwd").Text()
	return id, cwd, ok
}

// handleTurnStart records a turn's new folder once Codex has accepted the turn; the thread
// keeps it.
func (f *Feature) handleTurnStart(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
	id, _ := call.Params.Get("threadId").Text()
	if cwd, ok := call.Params.Get("cwd").Text(); ok && cwd != "" && call.Kind == rpc.Request {
		call.OnResponse(func(a *bridge.ServerResponse) {
			if a.Outcome() == bridge.Succeeded {
				f.threads.change(id, func(t *thread) { t.cwd = cwd })
			}
		})
	}
	return nil
}

// handleThreadClosed forgets a thread.
func (f *Feature) handleThreadClosed(_ context.Context, msg *bridge.ServerMessage) {
	if id, ok := msg.Root().Get("params").Get("threadId").Text(); ok {
		f.running.end(func(c *runningCall) bool { return c.thread == id })
		f.threads.forget(id)
	}
}

// warnOutdated warns the client that open threads keep their old tools.
func (f *Feature) warnOutdated(o *tools.Snapshot) {
	n := f.threads.markOutdated(o.Fingerprint())
	if n == 0 {
		return
	}
	f.options.Log.Warn("the host's tools have changed; open threads keep the old ones", "threads", n, "tools", len(o.Tools))
	if f.peer.OptedOut(configWarning) {
		return
	}
	f.peer.Notify(configWarning, map[string]any{
		"summary": "codex-bridge's tools have changed.",
		"details": fmt.Sprintf("There are %d now. The open threads (%d) keep the tools they were started with. Calls of removed tools fail; "+
			"start a new thread to use the current tools.", len(o.Tools), n),
	})
}
