package policy

import (
	"encoding/json"
	"slices"
	"strings"

	"codex-bridge/rpc"
)

const ruleReviewers = "policy.reviewers"

// reviewerOf: guardian_subagent is echoed as auto_review; they are one.
func reviewerOf(name string) string {
	if name == "guardian_subagent" {
		return "auto_review"
	}
	return name
}

func (p *Policy) allowsReviewer(v rpc.Value) bool {
	// Only strings: codex also takes {"auto_review": null} (measured).
	for _, name := range p.reviewers {
		if v.Is(name) || name == "auto_review" && v.Is("guardian_subagent") {
			return true
		}
	}
	return false
}

func (c *call) reviewer([]string) {
	p, v := c.p, c.params.Get("approvalsReviewer")
	switch {
	case !nothing(v) && p.allowsReviewer(v):
		if c.row.opens {
			c.sent.Reviewer = clone(v)
		}
	case !nothing(v):
		c.setReviewer(show(v) + " is not in " + p.reviewerList())
	case c.row.starts && slices.Contains(p.reviewers, "user") && slices.Contains(p.reviewers, "auto_review"):
		// Every default is allowed.
	case c.row.starts && c.st.Defaults == nil:
		c.needs = true
	case c.row.starts:
		name := c.st.Defaults.Reviewer
		if name == "" {
			name = "user" // measured
		}
		if !slices.Contains(p.reviewers, reviewerOf(name)) {
			c.setReviewer("left out, it would be codex's own " + name + ", which is not in " + p.reviewerList())
		}
	case c.row.opens && len(p.reviewers) == 1:
		c.setReviewer("left out, it would be the thread's own, and only one value is in " + p.reviewerList())
	}
}

func (c *call) setReviewer(reason string) {
	to := quote(c.p.reviewers[0])
	c.setField("approvalsReviewer", to, ruleReviewers, reason)
	c.sent.Reviewer = to
}

func (p *Policy) reviewerList() string {
	return ruleReviewers + " [" + strings.Join(p.reviewers, ", ") + "]"
}

func clone(v rpc.Value) json.RawMessage { return slices.Clone(v.Raw()) }
