package host

import (
	"bytes"
	"context"
	"encoding/json"

	"codex-bridge/bridge"
	"codex-bridge/relay/tools"
)

// called answers codex's call of a tool of the host's.
func (f *Feature) called(ctx context.Context, said *bridge.ServerMessage) {
	params := said.Root().Get("params")
	var c tools.Call
	c.Thread, _ = params.Get("threadId").Text()
	c.Turn, _ = params.Get("turnId").Text()
	c.ID, _ = params.Get("callId").Text()
	c.Namespace, _ = params.Get("namespace").Text()
	c.Name, _ = params.Get("tool").Text()
	if !said.ID.IsValid() || said.Line == nil || c.Thread == "" || c.Turn == "" || c.Name == "" {
		return
	}
	session := c.Thread
	if !f.threads.has(session) {
		session = f.o.Session(session)
	}
	if f.theirs(session, name{c.Namespace, c.Name}) {
		return
	}
	c.Arguments = bytes.Clone(params.Get("arguments").Raw())
	if c.Cwd = f.threads.cwd(c.Thread); c.Cwd == "" {
		c.Cwd = f.threads.cwd(session)
	}
	runner, longest := f.answers()
	held := said.Withhold(longest, func() []byte { return unanswered })
	ctx, end := context.WithCancel(ctx)
	one := &callUnderWay{thread: c.Thread, turn: c.Turn, id: c.ID, end: end}
	f.running.add(one)
	f.tasks.Go(func() {
		defer end()
		defer f.running.remove(one)
		answer, err := json.Marshal(runner.Answer(ctx, c))
		if err != nil {
			f.o.Log.Error("the answer to a tool call has no form in JSON", "tool", c.Name, "error", err)
			answer = unanswered
		}
		held.Reply(answer)
	})
}

// unanswered is what codex is told when nothing else can be said: without an answer its
// turn would hang (measured with 0.169.0).
var unanswered = []byte(`{"contentItems":[{"type":"inputText","text":"The tool was not answered in time."}],"success":false}`)

// theirs tells whether a call is for the client. Of a thread that was started through the
// bridge it is known which tools are; of another, which codex keeps with its tools, the
// name tells, and what nobody has is the client's where it is known to have any.
func (f *Feature) theirs(thread string, tool name) bool {
	clients, sure := f.threads.whose(thread, tool)
	switch {
	case sure:
		return clients
	case f.registered.offer().Has(tool.namespace, tool.tool):
		return true
	case f.catalogue.Last().Has(tool.namespace, tool.tool):
		return false
	}
	return clients
}

// ended ends the call whose item codex has completed: at an interrupt that comes without
// an answer.
func (f *Feature) ended(_ context.Context, said *bridge.ServerMessage) {
	params := said.Root().Get("params")
	thread, _ := params.Get("threadId").Text()
	id, _ := params.Get("item").Get("id").Text()
	f.running.end(func(c *callUnderWay) bool { return c.thread == thread && c.id == id })
}

// turnEnded ends the calls of a turn.
func (f *Feature) turnEnded(_ context.Context, said *bridge.ServerMessage) {
	params := said.Root().Get("params")
	thread, _ := params.Get("threadId").Text()
	turn, _ := params.Get("turn").Get("id").Text()
	f.running.end(func(c *callUnderWay) bool { return c.thread == thread && c.turn == turn })
}

// isCall tells whether an item is a tool call of the kind that is answered here.
var isCall = bridge.MatchItemType("dynamicToolCall")
