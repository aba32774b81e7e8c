package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"codex-bridge/bridge"
	"codex-bridge/rpc"
)

// The notifications that have something to keep.
const (
	itemStarted   = "item/started"
	itemCompleted = "item/completed"
	planUpdated   = "turn/plan/updated"
)

var listened = []string{itemStarted, itemCompleted, planUpdated}

// threads is what is known of threads.
type threads struct {
	ephemeral sync.Map // ids
	unwanted  sync.Map // of what is listened to: the methods that the client has opted out of
}

// Routes implements bridge.Feature. It must stand behind those that rewrite.
func (m *Mirror) Routes() []bridge.Route {
	const why = "for the transcript"
	opened := func(_ context.Context, call *bridge.Call) *rpc.Error {
		if call.Kind == rpc.Request {
			resume := call.Method == "thread/resume"
			call.OnAnswer(func(a *bridge.Answer) { m.opened(a, resume) })
		}
		return nil
	}
	return []bridge.Route{
		{From: bridge.Client, Method: "initialize", Why: why, Call: m.initialize},
		{From: bridge.Client, Method: "thread/start", Why: why, Call: opened},
		{From: bridge.Client, Method: "thread/resume", Why: why, Call: opened},
		{From: bridge.Client, Method: "thread/fork", Why: why, Call: opened},
		{From: bridge.Codex, Method: itemCompleted, Why: why, Said: m.said},
		{From: bridge.Codex, Method: planUpdated, Why: why, Said: m.said},
		{From: bridge.Codex, Method: itemStarted, Why: why, Said: m.said, If: func(line []byte) bool {
			_, unwanted := m.threads.unwanted.Load(itemStarted)
			return unwanted || bytes.Contains(line, []byte(`"contextCompaction"`))
		}},
	}
}

// initialize has Codex say what is kept, whether the client wants to hear it or not.
func (m *Mirror) initialize(_ context.Context, call *bridge.Call) *rpc.Error {
	const key = "optOutNotificationMethods"
	said, err := rpc.ParseMessage(call.Line) // as the features before have left it
	if err != nil {
		return rpc.Errorf(rpc.CodeInternal, "initialize as it was rewritten can't be read: %v", err)
	}
	capabilities := said.Params.Get("capabilities")
	kept := []json.RawMessage{}
	for method := range capabilities.Get(key).Elements() {
		if name, _ := method.Text(); slices.Contains(listened, name) {
			m.threads.unwanted.Store(name, true)
			continue
		}
		kept = append(kept, bytes.Clone(method.Raw()))
	}
	if len(kept) == capabilities.Get(key).Len() {
		return nil
	}
	list, jsonErr := json.Marshal(kept)
	if jsonErr != nil {
		return rpc.Errorf(rpc.CodeInternal, "initialize: %v", jsonErr)
	}
	patch := rpc.NewPatch(said)
	patch.Set(capabilities, key, list)
	call.Line = patch.Bytes()
	return nil
}

// opened takes note of a thread, and keeps what a resume tells of it.
func (m *Mirror) opened(a *bridge.Answer, resume bool) {
	thread := a.Result().Get("thread")
	id, _ := thread.Get("id").Text()
	if id == "" {
		return
	}
	if ephemeral, _ := thread.Get("ephemeral").Bool(); ephemeral {
		m.threads.ephemeral.Store(id, true)
		return
	}
	if resume && thread.Get("turns").Len() > 0 {
		m.put(heard{thread: id, resume: true}, a.Line)
	}
}

func (m *Mirror) said(_ context.Context, said *bridge.Said) {
	params := said.Root().Get("params")
	thread, _ := params.Get("threadId").Text()
	item := params.Get("item")
	if _, ephemeral := m.threads.ephemeral.Load(thread); ephemeral {
		for child := range item.Get("receiverThreadIds").Elements() {
			if id, ok := child.Text(); ok { // its subagents are as it is
				m.threads.ephemeral.Store(id, true)
			}
		}
	} else if thread != "" && (said.Method != itemStarted || item.Get("type").Is("contextCompaction")) {
		m.put(heard{thread: thread, method: said.Method}, said.Envelope.Root().Raw())
	}
	if _, unwanted := m.threads.unwanted.Load(said.Method); unwanted {
		said.Line = nil
	}
}
