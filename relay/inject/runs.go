package inject

import (
	"context"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/config"
	"codex-bridge/rpc"
)

// patience is how long codex has to end a turn.
const patience = 10 * time.Second

// completed counts the runs of our hooks. One that failed was none: Codex has let
// its tool run, and is now told to end the turn.
func (f *Feature) completed(ctx context.Context, said *bridge.ServerMessage) {
	params := said.Root().Get("params")
	run := params.Get("run")
	if !run.Get("sourcePath").Is(sources[0]) {
		return // the user's own, a plugin's
	}
	status, _ := run.Get("status").Text()
	f.mu.Lock()
	f.runs.Add(status)
	f.mu.Unlock()
	if status == "failed" {
		f.failed(ctx, params)
	}
}

func (f *Feature) failed(ctx context.Context, params rpc.Value) {
	thread, _ := params.Get("threadId").Text()
	turn, _ := params.Get("turnId").Text()
	event, _ := params.Get("run").Get("eventName").Text()
	f.o.Log.Error("a hook failed, and codex went on without its answer", "event", event, "thread", thread, "turn", turn)
	if f.o.Mode() != config.Enforce || turn == "" {
		return
	}
	go func() { // ends with codex's answer, or without patience; nothing here may wait for codex
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if _, err := f.peer.Call(ctx, "turn/interrupt", map[string]any{"threadId": thread, "turnId": turn}); err != nil {
			f.o.Log.Error("the turn whose hook failed could not be interrupted", "thread", thread, "turn", turn, "error", err)
		}
	}()
}

// closed forgets a thread.
func (f *Feature) closed(_ context.Context, said *bridge.ServerMessage) {
	id, _ := said.Root().Get("params").Get("threadId").Text()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.threads, id)
}
