package host

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	"codex-bridge.example/bridge"
	"codex-bridge.example/relay/tools"
	"codex-bridge.example/rpc"
)

// handleCall answers Codex's call of a host tool.
func (f *Feature) handleCall(ctx context.Context, msg *bridge.ServerMessage) {
	params := msg.Root().Get("params")
	var c tools.Call
	c.Thread, _ = params.Get("threadId").Text()
	c.Turn, _ = params.Get("turnId").Text()
	c.ID, _ = params.Get("callId").Text()
	c.Namespace, _ = params.Get("namespace").Text()
	c.Name, _ = params.Get("tool").Text()
	if !msg.ID.IsValid() || msg.Line == nil || c.Thread == "" || c.Turn == "" || c.Name == "" {
		return
	}
	session := f.sessionOf(c.Thread)
	if f.isClientTool(session, tools.Name{Namespace: c.Namespace, Name: c.Name}) {
		return
	}
	c.Arguments = bytes.Clone(params.Get("arguments").Raw())
	c.Cwd, _ = f.threads.cwd(session)
	runner, longest := f.currentRunner()
	held := msg.Withhold(longest, func() []byte { return noAnswerResult })
	ctx, end := context.WithCancel(ctx)
	one := &runningCall{thread: c.Thread, turn: c.Turn, id: c.ID, cancel: end}
	f.running.add(one)
	f.tasks.Go(func() {
		defer end()
		defer f.running.remove(one)
		answer, err := json.Marshal(runner.Answer(ctx, c))
		if err != nil {
			f.options.Log.Error("tool result not encodable", "tool", c.Name, "error", err)
			answer = noAnswerResult
		}
		held.Reply(answer)
	})
}

// noAnswerResult is the last resort: without an answer the turn would hang (measured with
// 0.169.0).
var noAnswerResult = []byte(`{"contentItems":[{"type":"inputText","text":"The tool was not answered in time."}],"success":false}`)

// sessionOf returns the thread whose tools a call of a thread may use: for a subagent, the one that has
// started it.
func (f *Feature) sessionOf(thread string) string {
	if _, known := f.threads.cwd(thread); known {
		return thread
	}
	return f.options.Session(thread)
}

// IsClientTool reports whether the client itself runs the tool that an item/tool/call names.
func (f *Feature) IsClientTool(params rpc.Value) bool {
	if !f.configured {
		return true // the bridge runs none
	}
	thread, _ := params.Get("threadId").Text()
	namespace, _ := params.Get("namespace").Text()
	name, _ := params.Get("tool").Text()
	return f.isClientTool(f.sessionOf(thread), tools.Name{Namespace: namespace, Name: name})
}

// isClientTool reports whether a call is for the client. For a thread started through the
// bridge, the client's tools are known. Otherwise the name decides. An unknown tool is the
// client's if the client has any.
func (f *Feature) isClientTool(thread string, tool tools.Name) bool {
	clients, sure := f.threads.isClientTool(thread, tool)
	switch {
	case sure:
		return clients
	case f.registered.current().Has(tool.Namespace, tool.Name):
		return true
	case f.catalogue.Last().Has(tool.Namespace, tool.Name):
		return false
	}
	return clients
}

// handleItemCompleted ends the call of a completed item: after an interrupt, Codex
// completes it without an answer.
func (f *Feature) handleItemCompleted(_ context.Context, msg *bridge.ServerMessage) {
	params := msg.Root().Get("params")
	thread, _ := params.Get("threadId").Text()
	id, _ := params.Get("item").Get("id").Text()
	f.running.end(func(c *runningCall) bool { return c.thread == thread && c.id == id })
}

// handleTurnCompleted ends the calls of a turn.
func (f *Feature) handleTurnCompleted(_ context.Context, msg *bridge.ServerMessage) {
	params := msg.Root().Get("params")
	thread, _ := params.Get("threadId").Text()
	turn, _ := params.Get("turn").Get("id").Text()
	f.running.end(func(c *runningCall) bool { return c.thread == thread && c.turn == turn })
}

// isCall reports whether an item is a dynamic tool call.
var isCall = bridge.MatchItemType("dynamicToolCall")

// runningCalls are the calls that are not answered yet.
type runningCalls struct {
	count atomic.Int64 // len(calls), read without the lock

	mu    sync.Mutex
	calls map[*runningCall]struct{}
}

type runningCall struct {
	thread, turn, id string
	cancel           context.CancelFunc
}

func (r *runningCalls) add(c *runningCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls = make(map[*runningCall]struct{})
	}
	r.calls[c] = struct{}{}
	r.count.Store(int64(len(r.calls)))
}

func (r *runningCalls) remove(c *runningCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.calls, c)
	r.count.Store(int64(len(r.calls)))
}

// any reports whether calls are running.
func (r *runningCalls) any() bool { return r.count.Load() > 0 }

// end cancels the calls that fit.
func (r *runningCalls) end(fits func(*runningCall) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.calls {
		if fits(c) {
			c.cancel()
		}
	}
}

func (r *runningCalls) endAll() { r.end(func(*runningCall) bool { return true }) }
