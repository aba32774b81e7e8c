package main

import (
	"codex-bridge/bridge"
	"codex-bridge/bridge/hello"
	"codex-bridge/relay/inject"
	"codex-bridge/relay/telemetry"
)

// watching has a client that knows the bridge see what codex tells of its own doings.
// For another nothing is counted, and nothing read.
type watching struct {
	hello  *hello.Hello
	counts *telemetry.Counts
	hooks  *inject.Feature
}

// hooksState is what bridge/status has under hooks, and bridge/hooks/state tells.
type hooksState struct {
	inject.State
	telemetry.HookCounts
}

func newWatch(hi *hello.Hello) *watching {
	w := &watching{hello: hi}
	w.counts = &telemetry.Counts{IsWanted: hi.KnowsBridge, OnHookRun: w.tell}
	return w
}

// show has bridge/status show what is counted.
func (w *watching) show(hooks *inject.Feature) {
	w.hooks = hooks
	w.hello.AddStatus("hooks", func() any { return w.state() })
	w.hello.AddStatus("compactions", func() any { return w.counts.Compactions() })
	w.hello.AddStatus("reviews", func() any { return w.counts.Reviews() })
}

// feature stands behind that of the hooks, which counts the bridge's own.
func (w *watching) feature() bridge.Feature {
	return telemetry.NewEventFeature(inject.Source, w.counts)
}

func (w *watching) state() hooksState { return hooksState{w.hooks.State(), w.counts.Hooks()} }

// tell has the client hear of a change.
func (w *watching) tell() { w.hello.Notify("bridge/hooks/state", w.state()) }
