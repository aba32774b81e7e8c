package observe

import (
	"slices"
	"sync"
)

// mostFailures is how many of the last runs that failed are kept.
const mostFailures = 8

// Counts is an Observer that counts, for bridge/status. Its methods may be called from
// everywhere at once.
type Counts struct {
	// Wanted tells whether anybody can ask for the counts; nil: always.
	Wanted func() bool
	// Ran is told of each run of a hook that has ended, once it is counted; nil: nobody.
	Ran func()

	mu          sync.Mutex
	hooks       Hooks
	compactions Compactions
	reviews     Reviews
}

// Wants implements Observer.
func (c *Counts) Wants() bool { return c.Wanted == nil || c.Wanted() }

// Observe implements Observer.
func (c *Counts) Observe(e Event) {
	c.mu.Lock()
	c.count(e)
	c.mu.Unlock()
	if e.Kind == Hook && e.Status != Running && c.Ran != nil {
		c.Ran()
	}
}

func (c *Counts) count(e Event) {
	switch {
	case e.Kind == Hook && e.Status != Running:
		run := Run{e.ThreadID, e.TurnID, e.Name, e.Status, e.DurationMs, e.Own, e.Reason}
		if !e.Own {
			c.hooks.Others.Add(e.Status)
		}
		c.hooks.Last = &run
		if e.Status == "failed" {
			if len(c.hooks.Failures) == mostFailures {
				c.hooks.Failures = slices.Delete(c.hooks.Failures, 0, 1)
			}
			c.hooks.Failures = append(c.hooks.Failures, run)
		}
	case e.Kind == Compaction && e.Status == Running:
		c.compactions.Started++
	case e.Kind == Compaction:
		c.compactions.Completed++
		c.compactions.Last = &Compacted{e.ThreadID, e.TurnID, e.DurationMs}
	case e.Kind == Review:
		c.reviews.add(e)
	}
}

func (r *Reviews) add(e Event) {
	switch e.Status {
	case Running:
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
	r.Last = &Reviewed{e.ThreadID, e.TurnID, e.Name, e.Status, e.Risk, e.DurationMs, e.Reason}
}

// Hooks are the runs so far.
func (c *Counts) Hooks() Hooks {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.hooks
	h.Failures = slices.Clone(h.Failures)
	return h
}

// Compactions are those so far.
func (c *Counts) Compactions() Compactions {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.compactions
}

// Reviews are those so far.
func (c *Counts) Reviews() Reviews {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reviews
}
