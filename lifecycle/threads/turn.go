package threads

import (
	"cmp"
	"context"
	"encoding/json"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/lifecycle/params"
	"codex-bridge.example/rpc"
)

// turnStart sets the collaboration mode of a turn by its trigger. Codex keeps a mode until it gets another, so a
// user's turn after one with another trigger gets a mode, too.
func (f *Feature) turnStart(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
	if !f.o.Known() || call.Kind != rpc.Request || call.Params.Kind() != rpc.Object {
		return nil
	}
	trigger, isSet, err := readTrigger(call.Params)
	if err != nil {
		return rpc.Errorf(rpc.CodeInvalidParams, "turn/start: %v", err)
	}
	id, _ := call.Params.Get("threadId").Text()
	now, _ := f.known.get(id)
	if now.fresh {
		call.OnResponse(func(a *bridge.ServerResponse) {
			if a.Result().Exists() {
				f.known.change(id, func(t *thread) { t.fresh = false })
			}
		})
	}
	if !isSet && !trigger.Differs(now.trigger) {
		return nil
	}
	if trigger == "" {
		trigger = params.TriggerUser
	}
	var mode json.RawMessage
	if trigger.Differs(now.trigger) {
		model, effort := now.model, now.effort
		if own, ok := call.Params.Get("model").Text(); ok {
			model = own
		}
		if own, ok := call.Params.Get("effort").Text(); ok {
			effort = own
		}
		if mode, err = params.CollaborationMode(trigger, f.TriggerInstructions(), model, effort); err != nil {
			return rpc.Errorf(rpc.CodeInvalidParams, "turn/start: bridge.trigger: %v; open the thread here, or name its model", err)
		}
	}
	if failed := f.rewrite(call, func(raw json.RawMessage) (json.RawMessage, error) { return params.WithMode(raw, mode) }); failed != nil {
		return failed
	}
	if mode != nil {
		call.OnResponse(func(a *bridge.ServerResponse) {
			if !a.Result().Exists() {
				return
			}
			of := ""
			f.known.change(id, func(t *thread) { t.trigger, of = trigger, t.session })
			// Measured: the thread has the mode after a cold resume, too.
			keep := func(row *store.Binding, _ *binding.Binding) { row.Mode = string(trigger) }
			if of == "" {
				return
			}
			if err := f.updateBinding(context.WithoutCancel(ctx), of, id, keep); err != nil {
				f.o.Log.Error("the mode of a session's thread can't be row", "thread", id, "error", err)
			}
		})
	}
	return nil
}

// settingsUpdated records the settings that Codex reports for a thread.
func (f *Feature) settingsUpdated(ctx context.Context, notification *bridge.ServerMessage) {
	p := notification.Root().Get("params")
	id, _ := p.Get("threadId").Text()
	settings := p.Get("threadSettings")
	model, ok := settings.Get("model").Text()
	if !ok {
		return
	}
	effort, _ := settings.Get("effort").Text()
	changed := ""
	f.known.change(id, func(t *thread) {
		if t.model != model {
			changed = t.session
		}
		t.model, t.effort = model, effort
		t.approval, t.sandbox = effectiveLimits(settings, "sandboxPolicy")
		if t.sandbox == setting.WorkspaceWrite {
			t.excluded = excludedBySandbox(settings.Get("sandboxPolicy"))
		}
	})
	if changed == "" {
		return
	}
	provider, _ := settings.Get("modelProvider").Text()
	if err := f.Change(ctx, changed, id, func(b *binding.Binding) {
		b.Model, b.ModelProvider = model, cmp.Or(provider, b.ModelProvider)
	}); err != nil {
		f.o.Log.Error("the model of a session's thread can't be row", "thread", id, "error", err)
	}
}

// turnCompleted abandons a session's thread if a failed turn shows that it can't continue.
func (f *Feature) turnCompleted(ctx context.Context, notification *bridge.ServerMessage) {
	p := notification.Root().Get("params")
	id, _ := p.Get("threadId").Text()
	failed := p.Get("turn").Get("error")
	t, ok := f.known.get(id)
	if !ok || t.session == "" || failed.Kind() != rpc.Object {
		return
	}
	failure, matters := binding.FailureOfTurn(failed)
	if !matters {
		return
	}
	recovery := binding.AfterTurnFailure(failure, t.bootstrapped)
	if recovery.Keep {
		return
	}
	if err := f.abandon(ctx, t.session, id, recovery.Reason); err != nil {
		f.o.Log.Error("a session's thread can't be given up", "thread", id, "error", err)
	}
}

// threadClosed forgets a thread that Codex has unloaded. This process still writes its session.
func (f *Feature) threadClosed(_ context.Context, notification *bridge.ServerMessage) {
	id, _ := notification.Root().Get("params").Get("threadId").Text()
	f.known.forget(id)
}
