package handlers

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"codex-bridge/relay/hook"
)

// maxInvocations is how many of the last calls are kept.
const maxInvocations = 200

// Outcome is how a call went.
type Outcome string

// The outcomes.
const (
	Passed    Outcome = "passed"    // nobody had an opinion
	Decided   Outcome = "decided"   // somebody had
	Rewritten Outcome = "rewritten" // the tool got another input
	Failed    Outcome = "failed"    // something failed; the decision is what counts then
	Exhausted Outcome = "exhausted" // one more pass was wanted once too often
)

// Invocation is one call that was answered.
type Invocation struct {
	At         time.Time     `json:"at"`
	DurationMs int64         `json:"durationMs"`
	Event      hook.Event    `json:"event"`
	ThreadID   string        `json:"threadId,omitempty"`
	AgentID    string        `json:"agentId,omitempty"`
	TurnID     string        `json:"turnId,omitempty"`
	ToolName   string        `json:"toolName,omitempty"`
	ToolUseID  string        `json:"toolUseId,omitempty"`
	Payload    any           `json:"payload,omitempty"` // trimmed
	Outcome    Outcome       `json:"outcome"`
	Decision   hook.Decision `json:"decision,omitempty"`
	Reason     string        `json:"reason,omitempty"` // trimmed
	By         string        `json:"by,omitempty"`
}

// Count is how often an event went that way.
type Count struct {
	Event    hook.Event    `json:"event"`
	Outcome  Outcome       `json:"outcome"`
	Decision hook.Decision `json:"decision,omitempty"`
	Calls    int64         `json:"calls"`
}

// State is what was answered so far.
type State struct {
	Counts []Count      `json:"counts"` // ordered by event, outcome, decision
	Recent []Invocation `json:"recent"` // the last ones, the newest at the end
}

type history struct {
	mu     sync.Mutex
	counts map[Count]int64 // by a Count without Calls
	recent []Invocation
}

func newHistory() *history { return &history{counts: make(map[Count]int64)} }

func (h *history) add(i Invocation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts[Count{Event: i.Event, Outcome: i.Outcome, Decision: i.Decision}]++
	if len(h.recent) == maxInvocations {
		h.recent = append(h.recent[:0], h.recent[1:]...)
	}
	h.recent = append(h.recent, i)
}

func (h *history) snapshot() State {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := State{Counts: []Count{}, Recent: append([]Invocation{}, h.recent...)}
	for c, n := range h.counts {
		c.Calls = n
		s.Counts = append(s.Counts, c)
	}
	slices.SortFunc(s.Counts, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Event, b.Event), cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Decision, b.Decision))
	})
	return s
}

func invocation(call *hook.Call, v verdict) Invocation {
	i := Invocation{
		Event: call.Event, ThreadID: clip(call.SessionID, trimString), AgentID: clip(call.AgentID, trimString),
		TurnID: clip(call.TurnID, trimString), ToolName: clip(call.ToolName, trimString), ToolUseID: clip(call.ToolUseID, trimString),
		Outcome: Passed, Decision: v.Decision, Reason: clip(v.Reason, trimString), By: v.by,
	}
	if call.Event.Name() == "" {
		i.Event = "unknown" // the counters are bounded by the events
	}
	if payload, err := value(call.Payload); err == nil {
		i.Payload = trim(payload)
	}
	switch {
	case v.failed:
		i.Outcome = Failed
	case v.Decision != hook.NoOpinion:
		i.Outcome = Decided
	case v.Input != nil:
		i.Outcome = Rewritten
	case v.spent:
		i.Outcome = Exhausted
	}
	return i
}
