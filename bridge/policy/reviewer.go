package policy

import (
	"encoding/json"
	"slices"
	"strings"

	"codex-bridge.example/rpc"
)

const ruleReviewers = "policy.reviewers"

// normalizeReviewer returns auto_review for its other name guardian_subagent, which Codex echoes as
// auto_review.
func normalizeReviewer(name string) string {
	if name == "guardian_subagent" {
		return "auto_review"
	}
	return name
}

// allowsReviewer reports whether v may be the reviewer. The user always may: a model only takes over
// the user's work.
func (p *Policy) allowsReviewer(v rpc.Value) bool {
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
		c.refuse(rpc.CodeRefused, "params.approvalsReviewer", ruleReviewers, "the machine's requirements do not allow the user, so Codex would have a model review", `send "auto_review" if that is right`)
	case !IsUnset(v) && p.allowsReviewer(v):
		if c.spec.opensThread {
			return CloneRaw(v)
		}
	case !IsUnset(v):
		return c.replaceReviewer(formatValue(v) + " is not in " + p.reviewerList())
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
		if !slices.Contains(p.reviewers, normalizeReviewer(name)) {
			return c.replaceReviewer("if omitted, Codex would use its default " + name + ", which is not in " + p.reviewerList())
		}
	case c.spec.opensThread && len(p.reviewers) == 1 && (c.st.Thread == nil || c.st.Thread.Reviewer != "user"):
		return c.replaceReviewer("if omitted, Codex would use the thread's value, and the policy allows only one in " + p.reviewerList())
	}
	return nil
}

// checkModelReview refuses thread/guardianReview if the policy allows no model as reviewer.
//
// Measured with Codex 0.169: it works on a resumed thread whose last call has no output. The
// reviewing model runs commands in a read-only sandbox, and no hook runs for them.
func (c *request) checkModelReview() {
	if !slices.Contains(c.p.reviewers, "auto_review") {
		c.refuse(rpc.CodeRefused, "", ruleReviewers, "a model would review the last action, with commands that no rule can deny, and auto_review is not in "+c.p.reviewerList(),
			`review the action yourself, or add "auto_review" to `+ruleReviewers)
	}
}

func (c *request) replaceReviewer(reason string) json.RawMessage {
	return c.setReviewer(c.p.reviewers[0], reason)
}

func (c *request) setReviewer(name, reason string) json.RawMessage {
	to := JSONString(name)
	c.setField("approvalsReviewer", to, ruleReviewers, reason)
	return to
}

func (p *Policy) reviewerList() string {
	return p.listName(ruleReviewers) + " [" + strings.Join(p.reviewers, ", ") + "]"
}

// AllowsModelReview reports whether a model may answer approvals in the user's place.
func (p *Policy) AllowsModelReview() bool { return slices.Contains(p.reviewers, "auto_review") }
