package assembly

import (
	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/hello"
	"codex-bridge.example/cmd/internal/core"
	"codex-bridge.example/relay/inject"
	"codex-bridge.example/relay/telemetry"
)

// eventStatus counts hook runs, compactions and reviews for bridge/status. It counts nothing if
// the client does not know the bridge.
type eventStatus struct {
	hello  *hello.Hello
	counts *telemetry.Counts
	hooks  *inject.Feature
}

// hooksState is the hooks member of bridge/status, and the params of bridge/hooks/state.
type hooksState struct {
	inject.State
	telemetry.HookCounts
}

// addTo adds the counts to bridge/status of a client.
func (w *eventStatus) addTo(hi *hello.Hello, hooks *inject.Feature) {
	w.hello, w.hooks = hi, hooks
	w.counts = &telemetry.Counts{OnHookRun: w.notify}
	hi.AddStatus("hooks", func() any { return w.state() })
	hi.AddStatus("compactions", func() any { return w.counts.Compactions() })
	hi.AddStatus("reviews", func() any { return w.counts.Reviews() })
}

// feature returns the feature that counts. It follows that of the hooks, which counts the
// bridge's own hooks.
func (w *eventStatus) feature() bridge.Feature {
	return telemetry.NewEventFeature(inject.Source, w.hello.KnowsBridge, w.counts.Observe)
}

func (w *eventStatus) state() hooksState { return hooksState{w.hooks.State(), w.counts.Hooks()} }

// notify sends the client the changed state.
func (w *eventStatus) notify() { w.hello.Notify(core.HooksState, w.state()) }
