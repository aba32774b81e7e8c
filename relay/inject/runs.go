package inject

import (
	"context"
	"strings"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
)

// interruptTimeout is how long Codex may take to interrupt a turn.
const interruptTimeout = 10 * time.Second

// handleHookCompleted counts runs of the bridge's hooks. If one failed, Codex has run its
// tool, so the turn is interrupted. If one has denied its call without an answer of the bridge, that is reported.
func (f *Feature) handleHookCompleted(ctx context.Context, msg *bridge.ServerMessage) {
	params := msg.Root().Get("params")
	run := params.Get("run")
	if !run.Get("sourcePath").Is(sourceNames[0]) {
		return // a hook of the user or of a plugin
	}
	status, _ := run.Get("status").Text()
	f.runsMu.Lock()
	f.runs.Add(status)
	f.runsMu.Unlock()
	switch {
	case status == "failed":
		f.handleFailedRun(ctx, params)
	case status == "blocked":
		if why := hook.Unanswered(reportedBy(run)); why != "" {
			thread, turn, event := runOf(params)
			go f.options.Unanswered(ctx, thread, turn, event, why) // this handler must not wait for the log
		}
	}
}

func runOf(params rpc.Value) (thread, turn, event string) {
	thread, _ = params.Get("threadId").Text()
	turn, _ = params.Get("turnId").Text()
	event, _ = params.Get("run").Get("eventName").Text()
	return thread, turn, event
}

// runCounts returns how the runs ended so far.
func (f *Feature) runCounts() hook.RunCounts {
	f.runsMu.Lock()
	defer f.runsMu.Unlock()
	return f.runs
}

// handleFailedRun interrupts the turn of a failed hook under enforce, and reports the failure.
func (f *Feature) handleFailedRun(ctx context.Context, params rpc.Value) {
	thread, turn, event := runOf(params)
	why := reportedBy(params.Get("run"))
	f.options.Log.Error("a hook failed, and codex continued without its answer", "event", event, "thread", thread, "turn", turn, "reason", why)
	enforced := f.options.Mode() == config.Enforce && turn != ""
	go func() { // a goroutine, because this handler must not wait for Codex or for the log
		if enforced {
			f.interrupt(ctx, thread, turn)
		}
		f.options.Failed(ctx, thread, turn, event, why)
	}()
}

// interrupt interrupts a turn.
func (f *Feature) interrupt(ctx context.Context, thread, turn string) {
	ctx, cancel := context.WithTimeout(ctx, interruptTimeout)
	defer cancel()
	if _, err := f.peer.Call(ctx, "turn/interrupt", map[string]any{"threadId": thread, "turnId": turn}); err != nil {
		f.options.Log.Error("the turn whose hook failed could not be interrupted", "thread", thread, "turn", turn, "error", err)
	}
}

// reportedBy returns the texts that Codex reports about a run of a hook.
func reportedBy(run rpc.Value) string {
	var texts []string
	for entry := range run.Get("entries").Elements() {
		if text, ok := entry.Get("text").Text(); ok {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; ")
}

// handleThreadClosed forgets a thread. If another client has it open, a thread/closed is an old one.
func (f *Feature) handleThreadClosed(_ context.Context, msg *bridge.ServerMessage) {
	id, _ := msg.Root().Get("params").Get("threadId").Text()
	if msg.Method == "thread/closed" && f.options.IsShared != nil && f.options.IsShared(id) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.threads, id)
}
