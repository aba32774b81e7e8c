package guard

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/rpc"
)

// Recorder is the decision log.
type Recorder interface {
	// Append returns when the decision is stored so that a crash can't lose it. A decision with CanWait
	// may be stored later if the log is away.
	Append(context.Context, decision.Record) error
}

// NoRecord is a Recorder that discards all decisions.
var NoRecord Recorder = noRecord{}

type noRecord struct{}

func (noRecord) Append(context.Context, decision.Record) error { return nil }

const (
	// recordTimeout bounds the time to write one decision.
	recordTimeout = 10 * time.Second
	// shortRecordTimeout is for answers to Codex's requests: later messages of Codex wait meanwhile, and
	// the user can give the answer, too.
	shortRecordTimeout = 2 * time.Second
)

// effective is the mode that the log has for a decision that applies in each mode of the policy, such as the refusal of a
// line that is no message. A decision with the mode audit is only logged.
const effective = config.Enforce

// recordEffect is record for a decision that must not take effect without its entry. It returns the
// decision that applies: d, or a refusal, which is logged, too.
func (g *Guard) recordEffect(ctx context.Context, mode config.Mode, m subject, d policy.Decision) policy.Decision {
	err := g.record(ctx, mode, m, d)
	if err == nil || d.Err != nil || mode != config.Enforce {
		return d
	}
	d = policy.Decision{Verdict: policy.Deny, Err: err}
	_ = g.record(ctx, mode, m, d) // written when the log can be written again
	return d
}

// record logs a decision that changed or refused something, before its effect. If it can't be
// written, the effect must not happen: record returns the error for the client. A refusal, and what
// audit only logs, needs no entry. It also records a message that was refused because its context is
// done.
func (g *Guard) record(ctx context.Context, mode config.Mode, m subject, d policy.Decision) *rpc.Error {
	if d.Verdict == policy.Pass {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(m.recordTimeout, recordTimeout))
	defer cancel()
	entry := decision.Record{
		Time: time.Now(), Client: g.clientName(), Method: m.method, Thread: display.Clip(m.thread), Turn: display.Clip(m.turn),
		Mode: string(mode), Verdict: string(d.Verdict), Facts: m.facts,
		CanWait: m.canWait || d.Verdict == policy.Deny || mode != config.Enforce,
	}
	if line := bytes.TrimSpace(m.line); len(line) > 0 {
		entry.Message = decision.Sum(line)
	}
	for _, c := range d.Changes {
		entry.Fields = append(entry.Fields, c.Field)
	}
	if r := d.Refusal(); r != nil {
		entry.Rule, entry.Reason, entry.Origin = r.Rule, r.Reason, r.Origin
		if r.Field != "" {
			entry.Fields = append(entry.Fields, r.Field)
		}
	} else if len(d.Changes) != 0 {
		entry.Rule, entry.Reason, entry.Origin = d.Changes[0].Rule, reasonOf(d.Changes), d.Changes[0].Origin
	}
	err := g.recorder.Append(ctx, entry)
	if err == nil {
		return nil
	}
	g.log.Error("a decision can't be written to the decision log", "method", m.method, "error", err)
	return policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
		Method: m.method, Rule: "store", Reason: fmt.Sprintf("the decision can't be written to the decision log, so the bridge does not apply it: %v", err),
		Hint: "run codex-bridge doctor",
	})
}

// reasonOf returns the reason of a change, or of several changes with their fields and rules.
func reasonOf(all []policy.Change) string {
	if len(all) == 1 {
		return all[0].Reason
	}
	var reasons []string
	for _, c := range all[:min(len(all), maxReasons)] {
		reasons = append(reasons, fmt.Sprintf("%s: %s (%s)", c.Field, c.Reason, c.Rule))
	}
	if more := len(all) - maxReasons; more > 0 {
		reasons = append(reasons, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(reasons, "; ")
}

// maxReasons is how many reasons an entry of the decision log has.
const maxReasons = 20

// subject is the message that a decision is about.
type subject struct {
	method, thread, turn string
	line                 []byte        // empty: not known
	facts                string        // Decision.Facts
	canWait              bool          // Decision.CanWait, whatever the verdict
	recordTimeout        time.Duration // 0: recordTimeout
}

// subjectOf returns the subject of a message with these params.
func subjectOf(method string, params rpc.Value, line []byte) subject {
	s := subject{method: display.Clip(method), line: line}
	s.thread, _ = params.Get("threadId").Text()
	if s.thread == "" {
		s.thread, _ = params.Get("conversationId").Text() // legacy approvals
	}
	if s.turn, _ = params.Get("turnId").Text(); s.turn == "" {
		s.turn, _ = params.Get("expectedTurnId").Text()
	}
	return s
}

// logDecision logs a decision, one line per change. Under audit the log is the only result, so the
// level is warning.
func (g *Guard) logDecision(mode config.Mode, method string, d policy.Decision) {
	level, text := slog.LevelInfo, "policy"
	if mode == config.Audit {
		level, text = slog.LevelWarn, "policy (audit: not applied)"
	}
	// The client does not see a denied request of Codex, so the reason is logged here.
	if d.Verdict == policy.Deny {
		g.log.Log(context.Background(), level, text, "method", method, "verdict", d.Verdict, "reason", d.Err.Message)
	}
	for _, c := range d.Changes {
		g.log.Log(context.Background(), level, text, "method", method, "verdict", d.Verdict, "field", c.Field, "rule", c.Rule,
			"from", string(c.From), "to", string(c.To), "reason", c.Reason)
	}
}

// Applied is one decision for a client that knows the bridge: the params of bridge/policy/applied.
type Applied struct {
	Method   string          `json:"method"`
	ID       json.RawMessage `json:"id,omitempty"`
	ThreadID string          `json:"threadId,omitempty"`
	TurnID   string          `json:"turnId,omitempty"`
	ItemID   string          `json:"itemId,omitempty"` // of the call that the decision is about
	What     string          `json:"what,omitempty"`   // the command, the files or the tool of that call
	Verdict  policy.Verdict  `json:"verdict"`
	Changes  []policy.Change `json:"changes,omitempty"`
	Error    *policy.Refusal `json:"error,omitempty"`
}

// OnApplied registers f, which is called with each decision that has changed or refused a message.
// f must not wait. Call OnApplied before the conversation starts.
func (g *Guard) OnApplied(f func(Applied)) { g.listeners = append(g.listeners, f) }

// notifyApplied counts a decision about a message, and calls the functions of OnApplied.
func (g *Guard) notifyApplied(method string, id rpc.ID, params rpc.Value, d policy.Decision) {
	var a Applied
	if id.IsValid() {
		a.ID = json.RawMessage(id.Clone().Raw())
	}
	a.ThreadID, _ = params.Get("threadId").Text()
	a.TurnID, _ = params.Get("turnId").Text()
	a.ItemID, _ = params.Get("itemId").Text()
	a.What, _ = params.Get("command").Text()
	g.notifyListeners(method, a, d)
}

// notifyCall is notifyApplied for a decision about a tool call, which is no message to the client.
func (g *Guard) notifyCall(method, thread, turn string, use toolcall.Call, d policy.Decision) {
	g.notifyListeners(method, Applied{ThreadID: thread, TurnID: turn, ItemID: use.ID, What: use.Summary()}, d)
}

// notifyListeners counts a decision, adds it to a, calls the functions of OnApplied, and warns the user
// of a refused call.
func (g *Guard) notifyListeners(method string, a Applied, d policy.Decision) {
	switch d.Verdict {
	case policy.Rewrite:
		g.counts.rewritten.Add(1)
	case policy.Deny:
		g.counts.refused.Add(1)
	}
	a.Method, a.ItemID, a.What = display.Clip(method), display.Clip(a.ItemID), display.ClipTo(a.What, maxWhat)
	a.Verdict, a.Changes, a.Error = d.Verdict, d.Changes, d.Refusal()
	for _, f := range g.listeners {
		f(a)
	}
	g.warnRefusal(a)
}

// maxWhat bounds the text of a call, in bytes.
const maxWhat = 4096

// Counts returns how many messages were rewritten and refused so far.
func (g *Guard) Counts() (rewritten, refused int64) {
	return g.counts.rewritten.Load(), g.counts.refused.Load()
}

func (g *Guard) clientName() string {
	if name := g.client.Load(); name != nil {
		return *name
	}
	return ""
}

// recordRevoked logs that a thread takes no more turns. This holds even if the log can't be
// written.
func (g *Guard) recordRevoked(method string, id rpc.ID, thread string, line []byte, err *rpc.Error) {
	d := policy.Decision{Verdict: policy.Deny, Err: err}
	about := subjectOf(method, rpc.Value{}, line)
	about.thread = thread
	_ = g.record(context.Background(), config.Enforce, about, d)
	g.notifyApplied(method, id, rpc.Value{}, d)
}
