package telemetry

import (
	"codex-bridge.example/relay/hook"
	"slices"
	"sync"
)

// maxFailures is how many failed runs are kept.
const maxFailures = 8

// Counts counts events for bridge/status. Its methods may be called concurrently.
type Counts struct {
	// OnHookRun is called after each completed run of a hook is counted.
	OnHookRun func()

	mu          sync.Mutex
	hooks       HookCounts
	compactions CompactionCounts
	reviews     ReviewCounts
}

// Observe counts an event.
func (c *Counts) Observe(e Event) {
	c.mu.Lock()
	c.add(e)
	c.mu.Unlock()
	if e.Kind == KindHook && e.Status != StatusRunning {
		c.OnHookRun()
	}
}

func (c *Counts) add(e Event) {
	switch {
	case e.Kind == KindHook && e.Status != StatusRunning:
		run := HookRun{e.ThreadID, e.TurnID, e.Name, e.Status, e.DurationMs, e.Own, e.Reason}
		if !e.Own {
			c.hooks.Others.Add(e.Status)
		}
		c.hooks.Last = &run
		if e.Status == "failed" {
			if len(c.hooks.Failures) == maxFailures {
				c.hooks.Failures = slices.Delete(c.hooks.Failures, 0, 1)
			}
			c.hooks.Failures = append(c.hooks.Failures, run)
		}
	case e.Kind == KindCompaction && e.Status == StatusRunning:
		c.compactions.Started++
	case e.Kind == KindCompaction:
		c.compactions.Completed++
		c.compactions.Last = &CompactionResult{e.ThreadID, e.TurnID, e.DurationMs}
	case e.Kind == KindReview:
		c.reviews.add(e)
	}
}

func (r *ReviewCounts) add(e Event) {
	switch e.Status {
	case StatusRunning:
		r.Started++
		return
	case "approved":
		r.Approved++
	case "denied":
		r.Denied++
	case "timedOut":
		r.TimedOut++
	case "aborted":
		r.Aborted++
	}
	r.Last = &ReviewResult{e.ThreadID, e.TurnID, e.Name, e.Status, e.Risk, e.DurationMs, e.Reason}
}

// Hooks returns the counts of hook runs.
func (c *Counts) Hooks() HookCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.hooks
	h.Failures = slices.Clone(h.Failures)
	return h
}

// Compactions returns the counts of compactions.
func (c *Counts) Compactions() CompactionCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.compactions
}

// Reviews returns the counts of reviews.
func (c *Counts) Reviews() ReviewCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reviews
}

// CompactionCounts counts compactions. One that was started and not completed still runs,
// or has failed.
type CompactionCounts struct {
	Started   int64             `json:"started"`
	Completed int64             `json:"completed"`
	Last      *CompactionResult `json:"last,omitempty"`
}

// CompactionResult is a completed compaction.
type CompactionResult struct {
	ThreadID   string `json:"threadId"`
	TurnID     string `json:"turnId,omitempty"`
	DurationMs int64  `json:"durationMs"`
}

// ReviewCounts counts automatic reviews, in which a model decides for the person.
type ReviewCounts struct {
	Started  int64         `json:"started"`
	Approved int64         `json:"approved"`
	Denied   int64         `json:"denied"`
	TimedOut int64         `json:"timedOut"`
	Aborted  int64         `json:"aborted"`
	Last     *ReviewResult `json:"last,omitempty"`
}

// ReviewResult is a completed review.
type ReviewResult struct {
	ThreadID   string `json:"threadId"`
	TurnID     string `json:"turnId,omitempty"`
	Action     string `json:"action"` // such as command, applyPatch or mcpToolCall
	Status     string `json:"status"`
	Risk       string `json:"risk,omitempty"`
	DurationMs int64  `json:"durationMs"`
	Reason     string `json:"reason,omitempty"`
}

// HookRun is a completed run of a hook.
type HookRun struct {
	ThreadID   string `json:"threadId"`
	TurnID     string `json:"turnId,omitempty"`
	Event      string `json:"event"`
	Status     string `json:"status"`
	DurationMs int64  `json:"durationMs"`
	Own        bool   `json:"own"` // a hook of the bridge
	Reason     string `json:"reason,omitempty"`
}

// HookCounts counts the runs of hooks that the bridge has not installed. Package inject
// counts the bridge's own.
type HookCounts struct {
	Others   hook.RunCounts `json:"others"` // hooks of the user and of plugins
	Last     *HookRun       `json:"last,omitempty"`
	Failures []HookRun      `json:"failures,omitempty"` // oldest first
}
