package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// warning is Codex's notification with a sentence for the user of a thread. Measured with codex-acp
// 2.6.0: it shows the sentence in its chat.
const warning = "warning"

// maxWarning bounds the sentence of a warning, in bytes.
const maxWarning = 2000

// WarnRefusedCall tells the user that a tool call was refused, once for each call. The call is described by
// its command, files or tool; reason has the rule and its place. It must not be called for a call that
// the user has declined. Clients that know the bridge get bridge/policy/applied instead.
func (g *Guard) WarnRefusedCall(thread, turn, id, what, reason string) {
	if id != "" && !g.calls.refuse(turnOf{thread, turn}, id) {
		return
	}
	g.warnThread(thread, refusedCall(what, reason))
}

// warnThread sends the client a warning for the user of a thread, or for a subagent's thread of its
// root.
func (g *Guard) warnThread(thread, sentence string) {
	if g.knowsBridge != nil && g.knowsBridge() || g.peer == nil || g.peer.OptedOut(warning) || !g.isOpened(thread) {
		return
	}
	g.peer.Notify(warning, map[string]any{"threadId": g.Session(thread), "message": display.ClipTo(sentence, maxWarning)})
}

// warnRefusal is WarnRefusedCall for a decision of the policy. The client gets the refusals of its own
// requests as errors.
func (g *Guard) warnRefusal(a Applied) {
	if a.Error == nil || a.ItemID == "" || a.ThreadID == "" || a.Error.Rule == "approvals.shared" { // the user has declined an equal call
		return
	}
	g.WarnRefusedCall(a.ThreadID, a.TurnID, a.ItemID, a.What, a.Error.Sentence())
}

// UnreadableCall is a tool call of which the hook could not read Codex's input, for example because it is
// too long. The fields that the hook could not read are empty.
type UnreadableCall struct {
	Event            string // Codex's name of the hook
	Thread, Turn, ID string
	Tool             string
	Reason           error
	Payload          []byte // the start of the input
}

// RefuseUnreadable logs that a call is denied because the bridge can't read what Codex reports of it. In
// each mode but off the entry says that it was denied, since no rule or handler could decide about it.
func (g *Guard) RefuseUnreadable(ctx context.Context, call UnreadableCall) {
	if g.policies(call.Thread)[0].Mode() == config.Off {
		return
	}
	method := "hook/" + strings.ToLower(call.Event[:1]) + call.Event[1:]
	d := policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
		Method: method, Rule: "policy.mode", Reason: call.Reason.Error(),
	})}
	g.logDecision(effective, method, d)
	about := subject{method: method, thread: call.Thread, turn: call.Turn, line: call.Payload, facts: unknownFacts(display.Clip(call.ID), "the bridge could not read the call")}
	_ = g.record(ctx, effective, about, d) // the call is denied even if this fails
	if call.ID != "" {
		g.calls.start(turnOf{call.Thread, call.Turn}, call.ID) // so that the user is told once
	}
	g.notifyListeners(method, Applied{ThreadID: call.Thread, TurnID: call.Turn, ItemID: call.ID, What: call.Tool}, d)
}

// RefusedLine implements bridge.Options.LogRefused. The error of a message with other params than Codex takes has data,
// as that of a refusal by the policy.
func (g *Guard) RefusedLine(ctx context.Context, m *rpc.Message, line []byte, refused *rpc.Error) *rpc.Error {
	if g.Mode() == config.Off {
		return refused
	}
	about := subject{method: "message", line: line}
	var id rpc.ID
	if m != nil {
		about, id = subjectOf(m.Method, m.Params, line), m.ID
	}
	about.recordTimeout, about.facts = shortRecordTimeout, unknownFacts("", "the line breaks the protocol")
	d := policy.Decision{Verdict: policy.Deny, Err: rpc.WithData(rpc.Errorf(refused.Code, "%s", refused.Message), policy.Refusal{Method: about.method, Rule: "protocol", Reason: refused.Message})}
	g.logDecision(effective, about.method, d)
	_ = g.record(ctx, effective, about, d) // the line is refused even if this fails
	g.notifyApplied(about.method, id, rpc.Value{}, d)
	if refused.Code == rpc.CodeInvalidParams {
		return d.Err
	}
	return refused
}

// DeniedCall is a call that no rule of the policy has denied.
type DeniedCall struct {
	Event            string // the client's name of the hook
	Thread, Turn, ID string
	Payload          []byte // of the hook
	Rule, Reason     string
	Facts            string // of the decision to ask about the call; "": unknown
}

// RecordDenied logs that a call is denied: by a handler, or for want of an answer. The call is denied even if this
// fails.
func (g *Guard) RecordDenied(ctx context.Context, call DeniedCall) {
	if g.policies(call.Thread)[0].Mode() == config.Off {
		return
	}
	method := "hook/" + call.Event
	d := policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{Method: method, Rule: call.Rule, Reason: display.Line(display.ClipTo(call.Reason, maxWhat))})}
	g.logDecision(effective, method, d)
	about := subject{method: method, thread: call.Thread, turn: call.Turn, line: call.Payload, facts: call.Facts}
	if about.facts == "" {
		about.facts = unknownFacts(display.Clip(call.ID), "no rule of the policy has denied it")
	}
	_ = g.record(ctx, effective, about, d)
}

// UnansweredHook logs that the process of a hook has denied a call, since it got no answer of the bridge in time, and tells
// the user. event is Codex's name of the hook.
func (g *Guard) UnansweredHook(ctx context.Context, thread, turn, event, why string) {
	mode := g.policies(thread)[0].Mode()
	if mode == config.Off {
		return
	}
	method, why := "hook/"+display.Clip(event), display.Line(display.ClipTo(why, maxWhat))
	d := policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{Method: method, Rule: "hooks.on_failure", Reason: why})}
	g.logDecision(effective, method, d)
	about := subject{method: method, thread: thread, turn: turn, facts: unknownFacts("", "the hook got no answer of the bridge")}
	_ = g.record(ctx, effective, about, d) // the call is denied even if this fails
	g.notifyListeners(method, Applied{ThreadID: thread, TurnID: turn}, d)
	g.warnThread(thread, "codex-bridge has refused a tool call: "+why)
}

// FailedHook logs that Codex went on without the answer of a hook of the bridge, for which the turn is
// interrupted under enforce, and tells the user, both once for each turn. event is Codex's name of the
// hook, and why what Codex reports.
func (g *Guard) FailedHook(ctx context.Context, thread, turn, event, why string) {
	p := g.policies(thread)[0]
	if p.Mode() == config.Off {
		return
	}
	reason := fmt.Sprintf("the bridge's hook %s did not run or has failed, so the bridge could not decide a call, which Codex may have run", display.Clip(event))
	if strings.TrimSpace(why) != "" {
		reason += "; Codex reports: " + display.Excerpt(why)
	}
	g.reportEndedTurn(ctx, p, turnOf{thread, turn}, policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeNotVerified, policy.Refusal{
		Method: "hook/completed", Rule: "policy.mode", Reason: reason,
		Hint: "check that the thread's folder exists and that the machine can start processes, then send the message again",
	})})
}

// reportEndedTurn logs why a turn is interrupted under enforce, and tells the user, both once for each turn
// and method.
func (g *Guard) reportEndedTurn(ctx context.Context, p *policy.Policy, at turnOf, d policy.Decision) {
	refusal := d.Refusal()
	method, key := refusal.Method, refusal.Method+" "+at.thread+" "+at.turn
	if g.endedTurns.add(key) {
		g.logDecision(p.Mode(), method, d)
		_ = g.record(ctx, p.Mode(), subject{method: method, thread: at.thread, turn: at.turn}, d) // the turn is interrupted even if this fails
	}
	if p.Mode() != config.Enforce || !g.notices.add(key) {
		return
	}
	g.notifyListeners(method, Applied{ThreadID: at.thread, TurnID: at.turn}, d)
	g.warnThread(at.thread, "codex-bridge has interrupted the turn: "+refusal.Reason+"; "+refusal.Hint+".")
}

// FailedHandler tells the user, and the decision log, once for each turn and event, that the call or the turn
// went on without the opinion of a handler or of the client. reason says which one failed, and how.
func (g *Guard) FailedHandler(ctx context.Context, thread, turn, event, reason string) {
	if !g.notices.add("handler " + thread + " " + turn + " " + event) {
		return
	}
	g.warnThread(thread, "codex-bridge: "+reason+". It counts as without an opinion.")
	if mode := g.policies(thread)[0].Mode(); mode != config.Off {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
		defer cancel()
		err := g.recorder.Append(ctx, decision.Record{
			Time: time.Now(), Client: g.clientName(), Method: "hook/" + event, Thread: display.Clip(thread), Turn: display.Clip(turn),
			Mode: string(mode), Verdict: string(policy.Pass), Rule: "hooks.handler", Reason: reason, CanWait: true,
		})
		if err != nil {
			g.log.Error("a failed handler can't be written to the decision log", "error", err)
		}
	}
}

// checkFolder refuses a request that makes the model work in a folder in which Codex can't start the
// bridge's hooks.
//
// Measured with Codex 0.169: in a folder that was removed, Codex runs a command without the hook.
func checkFolder(call *bridge.ClientMessage, state policy.State) *rpc.Error {
	row, known := methods.Lookup(methods.ClientRequest, call.Method)
	if !known || !row.RunsModel() || state.Thread == nil {
		return nil
	}
	folder := cmp.Or(textOf(call, "cwd"), state.Thread.Cwd, state.Thread.Workspace)
	if !filepath.IsAbs(folder) {
		return nil // the policy decides about it
	}
	_, err := os.Stat(folder + string(filepath.Separator) + ".") // fails also if the folder can't be entered
	if err == nil {
		return nil
	}
	if cause := new(fs.PathError); errors.As(err, &cause) {
		err = cause.Err
	}
	return policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
		Method: call.Method, Rule: "policy.mode", Field: "cwd",
		Reason: fmt.Sprintf("Codex can't start the bridge's hooks in the folder %s: %v", folder, err),
		Hint:   "create the folder again, or start a thread in another one",
	})
}

// RefuseUnhooked logs that a request is refused because the bridge's hooks are not active in its thread, and returns
// the error for the client. The refusal applies even if it can't be logged.
func (g *Guard) RefuseUnhooked(ctx context.Context, call *bridge.ClientMessage, why string) *rpc.Error {
	return g.Refuse(ctx, call, rpc.CodeNotVerified, policy.Refusal{Rule: "policy.mode", Reason: "the bridge's hooks are not active in this thread: " + why})
}

// Refuse logs that a feature refuses a request in each mode of the policy, and returns the error for the client. The
// refusal applies even if it can't be logged. r has no method.
func (g *Guard) Refuse(ctx context.Context, call *bridge.ClientMessage, code rpc.Code, r policy.Refusal) *rpc.Error {
	thread, _ := call.Params.Get("threadId").Text()
	r.Method = display.Clip(call.Method)
	d := policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(code, r)}
	if g.policies(thread)[0].Mode() == config.Off {
		return d.Err
	}
	g.logDecision(effective, call.Method, d)
	_ = g.record(ctx, effective, subjectOf(call.Method, call.Params, call.Bytes()), d)
	g.notifyApplied(call.Method, call.ID, call.Params, d)
	return d.Err
}
