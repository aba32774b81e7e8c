package policy

import (
	"encoding/json"
	"slices"
	"strings"

	"codex-bridge.example/rpc"
)

// NormalizeReviewer returns auto_review for its other name guardian_subagent, which Codex echoes as
// auto_review.
func NormalizeReviewer(name string) string {
	if name == "guardian_subagent" {
		return "auto_review"
	}
	return name
}

// AllowsReviewer reports whether v may be the reviewer. The user always may: a model only takes over
// the user's work.
func (p *Policy) AllowsReviewer(v rpc.Value) bool {
	// Measured with Codex 0.169: it also reads {"auto_review": null}; only strings pass.
	if v.Is("user") {
		return true
	}
	for _, name := range p.reviewers {
		if v.Is(name) || name == "auto_review" && v.Is("guardian_subagent") {
			return true
		}
	}
	return false
}

// decideReviewer returns the reviewer that the bridge sends; nil for none.
func decideReviewer(c *request, o overlaySettings) json.RawMessage {
	p, v := c.p, c.params.Get("approvalsReviewer")
	switch {
	case v.Is("user") && p.required.excludesUser():
		c.refuse(rpc.CodeRefused, "params.approvalsReviewer", RuleReviewers, "the machine's requirements do not allow the user, so Codex would have a model review", `send "auto_review" if that is right`)
	case !IsUnset(v) && p.AllowsReviewer(v):
		if c.spec.opensThread {
			return CloneRaw(v)
		}
	case !IsUnset(v):
		return c.replaceReviewer(FormatValue(v) + " is not in " + p.ReviewerList())
	case o.user:
		return c.setReviewer("user", "the client's config asks for it")
	case c.spec.startsThread && slices.Contains(p.reviewers, "user") && slices.Contains(p.reviewers, "auto_review"):
		// The policy allows every default.
	case c.spec.startsThread && c.st.Defaults == nil:
		c.want(WantConfiguration)
	case c.spec.startsThread && c.st.Defaults.Reviewer == "user":
		// Codex's configuration asks for the user.
	case c.spec.startsThread:
		name := c.st.Defaults.Reviewer
		if name == "" {
			name = "user" // measured
		}
		if !slices.Contains(p.reviewers, NormalizeReviewer(name)) {
			return c.replaceReviewer("if omitted, Codex would use its default " + name + ", which is not in " + p.ReviewerList())
		}
	case c.spec.opensThread && len(p.reviewers) == 1 && (c.st.Thread == nil || c.st.Thread.Reviewer != "user"):
		return c.replaceReviewer("if omitted, Codex would use the thread's value, and the policy allows only one in " + p.ReviewerList())
	}
	return nil
}

// checkModelReview refuses thread/guardianReview if the policy allows no model as reviewer.
//
// Measured with Codex 0.169: it works on a resumed thread whose last call has no output. The
// reviewing model runs commands in a read-only sandbox, and no hook runs for them.
func (c *request) checkModelReview() {
	if !slices.Contains(c.p.reviewers, "auto_review") {
		c.refuse(rpc.CodeRefused, "", RuleReviewers, "a model would review the last action, with commands that no rule can deny, and auto_review is not in "+c.p.ReviewerList(),
			`review the action yourself, or add "auto_review" to `+RuleReviewers)
	}
}

func (c *request) replaceReviewer(reason string) json.RawMessage {
	return c.setReviewer(c.p.reviewers[0], reason)
}

func (c *request) setReviewer(name, reason string) json.RawMessage {
	to := JSONString(name)
	c.setField("approvalsReviewer", to, RuleReviewers, reason)
	return to
}

// ReviewerList returns policy.reviewers for a message.
func (p *Policy) ReviewerList() string {
	return p.listName(RuleReviewers) + " [" + strings.Join(p.reviewers, ", ") + "]"
}

// AllowsModelReview reports whether a model may answer approvals in the user's place.
func (p *Policy) AllowsModelReview() bool { return slices.Contains(p.reviewers, "auto_review") }
