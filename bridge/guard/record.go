package guard

import (
	"bytes"
	"context"
	"strings"
	"time"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/bridge/store"
	"codex-bridge/rpc"
)

// Recorder is the decision log. Append returns when the decision is where a crash
// does not reach it.
type Recorder interface {
	Append(context.Context, store.Decision) error
}

// NoRecord keeps no log: for looking at decisions that have no effect.
var NoRecord Recorder = noRecord{}

type noRecord struct{}

func (noRecord) Append(context.Context, store.Decision) error { return nil }

// slowDisk is how long a decision waits to be written.
const slowDisk = 10 * time.Second

// record writes down a decision that changed or refused something, before its
// effect. What can't be written must not happen: the error is for the client. A message
// that was refused because its time is over is recorded all the same.
func (g *Guard) record(ctx context.Context, mode config.Mode, m subject, d policy.Decision) *rpc.Error {
	if d.Verdict == policy.Pass {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), slowDisk)
	defer cancel()
	entry := store.Decision{
		Time: time.Now(), Client: g.clientName(), Method: m.method, Thread: clip(m.thread), Turn: clip(m.turn),
		Mode: string(mode), Verdict: string(d.Verdict), Message: store.Sum(bytes.TrimSpace(m.line)),
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
		entry.Rule, entry.Reason, entry.Origin = d.Changes[0].Rule, d.Changes[0].Reason, d.Changes[0].Origin
	}
	err := g.recorder.Append(ctx, entry)
	if err == nil {
		return nil
	}
	g.log.Error("a decision can't be written to the decision log", "method", m.method, "error", err)
	return policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
		Method: m.method, Rule: "store", Reason: "the decision can't be written to the decision log, and what is not on record is not done",
		Hint: "see codex-bridge doctor",
	})
}

// subject is what a decision is about.
type subject struct {
	method, thread, turn string
	line                 []byte
}

func subjectOf(method string, params rpc.Value, line []byte) subject {
	s := subject{method: clip(method), line: line}
	s.thread, _ = params.Get("threadId").Text()
	if s.thread == "" {
		s.thread, _ = params.Get("conversationId").Text() // legacy approvals
	}
	if s.turn, _ = params.Get("turnId").Text(); s.turn == "" {
		s.turn, _ = params.Get("expectedTurnId").Text()
	}
	return s
}

// clip bounds what a client may have written into the log.
func clip(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
