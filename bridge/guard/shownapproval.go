package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// settingsNotification is the notification by which clients learn of a change of a thread's settings.
const settingsNotification = "thread/settings/updated"

// approvalShown: a client that gets the notifications of the thread sees an approval policy.
type approvalShown struct {
	addsRecord
	client   *Guard
	approval string
}

func (e approvalShown) change(r *threadRecord) {
	if r.shownApprovals == nil {
		r.shownApprovals = make(map[*Guard]string)
	}
	r.shownApprovals[e.client] = e.approval
}

// clientUnsubscribed: a client gets no more notifications of the thread.
type clientUnsubscribed struct{ client *Guard }

func (e clientUnsubscribed) change(r *threadRecord) { delete(r.shownApprovals, e.client) }

// shownThreads returns the threads whose notifications a client gets.
func (t *threads) shownThreads(client *Guard) (ids []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, record := range t.records {
		if _, is := record.shownApprovals[client]; is {
			ids = append(ids, id)
		}
	}
	return ids
}

// shownTo returns the clients that see an approval policy of a thread.
func (t *threads) shownTo(id string) (clients []*Guard) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if record := t.records[id]; record != nil {
		for client := range record.shownApprovals {
			clients = append(clients, client)
		}
	}
	return clients
}

// lastKnown returns a thread with its last known settings, and the approval policy that a client sees. The
// thread is nil if its settings are not known, or if the client gets no notifications of it.
func (t *threads) lastKnown(id string, client *Guard) (last *thread, shown string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	record := t.records[id]
	if record == nil {
		return nil, ""
	}
	shown, subscribed := record.shownApprovals[client]
	copies := record.copies()
	if !subscribed || len(copies) == 0 {
		return nil, ""
	}
	one := *copies[len(copies)-1]
	if v := record.pending; v != nil && len(v.reported) > 0 {
		one.lastSettings = v.reported[len(v.reported)-1]
		one.Update(one.lastSettings.Root())
	}
	return &one, shown
}

// settings returns the last known settings of a thread, in the form of threadSettings in
// thread/settings/updated. Those that no response to a request has, such as personality, are left out
// until Codex has reported them.
func (one *thread) settings() map[string]json.RawMessage {
	all := make(map[string]json.RawMessage)
	if one.lastSettings != nil {
		for name, v := range one.lastSettings.Root().Members() {
			all[name] = v.Raw()
		}
		return all
	}
	opened := one.openResult.Root()
	for name, from := range namesInResponse {
		if v := opened.Get(from); v.Exists() {
			all[name] = v.Raw()
		}
	}
	if all["collaborationMode"] == nil { // Codex leaves out the default
		all["collaborationMode"] = json.RawMessage(`{"mode":"default","settings":{"model":` + orNull(opened.Get("model")) +
			`,"reasoning_effort":` + orNull(opened.Get("reasoningEffort")) + `,"developer_instructions":null}}`)
	}
	return all
}

// namesInResponse are the names of settings in the response that opened a thread, by those in
// thread/settings/updated.
var namesInResponse = map[string]string{
	"disabledPluginIds": "disabledPluginIds", "cwd": "cwd", "approvalPolicy": "approvalPolicy", "approvalsReviewer": "approvalsReviewer",
	"sandboxPolicy": "sandbox", "activePermissionProfile": "activePermissionProfile", "model": "model", "modelProvider": "modelProvider",
	"serviceTier": "serviceTier", "effort": "reasoningEffort", "collaborationMode": "collaborationMode", "multiAgentMode": "multiAgentMode",
}

// gateRequest is a request that may change whether the bridge asks about each command of a thread.
type gateRequest struct {
	method, thread string
	approval       []byte // that Codex gets; nil: none
	wasGated       bool
}

// newGateRequest returns a request before Codex gets it. line is what Codex gets.
func (g *Guard) newGateRequest(method, thread string, line []byte) gateRequest {
	r := gateRequest{method: method, thread: thread}
	if m, err := rpc.ParseMessage(line); err == nil {
		r.approval = bytes.Clone(m.Params.Get("approvalPolicy").Raw())
	}
	if one := g.threads.peek(thread); one != nil {
		r.wasGated = one.Gated
	}
	return r
}

// gateChanged logs a change of the gate by a request that has ended, and notifies the clients of the
// thread. Codex gets the same approval policy with and without the gate, so it notifies no client of that
// change. If it gets another one than before, its own notification has both.
//
// The client of the request gets the notification after the response.
func (g *Guard) gateChanged(ctx context.Context, a *bridge.ServerResponse, r gateRequest) {
	if !g.Enforces() {
		return
	}
	one := g.threads.peek(r.thread)
	if one == nil {
		return // it takes no turns
	}
	if one.Gated != r.wasGated {
		g.recordGateChange(ctx, r, one.Gated)
	}
	if r.approval != nil && !bytes.Equal(r.approval, one.Approval) {
		return
	}
	a.AfterSent(func() { g.showApproval(r.thread) })
	for _, client := range g.threads.shownTo(r.thread) {
		if client != g {
			go client.showApproval(r.thread) // it may wait for a client that does not read
		}
	}
}

// recordGateChange logs that the bridge asks about each command of a thread from now on, or no more.
func (g *Guard) recordGateChange(ctx context.Context, r gateRequest, gated bool) {
	reason := "codex-bridge no longer asks about each command of the thread; Codex has on-request, as before"
	if gated {
		reason = "codex-bridge now asks about each command of the thread; Codex has on-request, as before"
	}
	g.log.Info(reason, "thread", r.thread, "method", r.method, "client", g.clientName())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shortRecordTimeout)
	defer cancel()
	err := g.recorder.Append(ctx, decision.Record{
		Time: time.Now(), Client: g.clientName(), Method: r.method, Thread: display.Clip(r.thread), Verdict: string(policy.Pass), Mode: string(config.Enforce),
		Rule: "policy.gate", Reason: reason, Fields: []string{"params.approvalPolicy"}, CanWait: true,
	})
	if err != nil {
		g.log.Error("a change of a thread's approval policy can't be written to the decision log", "thread", r.thread, "error", err)
	}
}

// showApproval notifies the client of the approval policy of a thread, if the client sees another one.
func (g *Guard) showApproval(id string) {
	if g.peer.OptedOut(settingsNotification) {
		return
	}
	// With the lock, no notification of Codex with later settings can come in between.
	g.showing.Lock()
	defer g.showing.Unlock()
	last, before := g.threads.lastKnown(id, g)
	if last == nil || !g.Enforces() {
		return
	}
	params, err := json.Marshal(map[string]any{"threadId": id, "threadSettings": last.settings()})
	if err != nil {
		panic(err) // the members are raw JSON of a parsed text
	}
	line := fmt.Appendf(nil, `{"method":%q,"params":%s}`, settingsNotification, params)
	e, err := rpc.ParseEnvelope(line)
	if err != nil {
		panic(err) // it is JSON
	}
	shown, line := showSettings(g.policy.Load(), &last.Thread, g.world, e, line)
	if string(shown) == before {
		return
	}
	if e, err = rpc.ParseEnvelope(line); err != nil {
		panic(err) // it is JSON
	}
	g.threads.apply(id, approvalShown{client: g, approval: string(shown)})
	g.peer.Notify(settingsNotification, json.RawMessage(e.Root().Get("params").Raw()))
}
