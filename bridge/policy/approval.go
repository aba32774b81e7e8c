package policy

import (
	"encoding/json"
	"slices"
	"strings"

	"codex-bridge/rpc"
)

const ruleApproval = "policy.approval"

// granularKeys are the booleans of {"granular": {…}}; true = codex requires it.
var granularKeys = map[string]bool{
	"sandbox_approval":    true,
	"rules":               true,
	"mcp_elicitations":    true,
	"skill_approval":      false,
	"request_permissions": false,
}

func (c *decider) decideApproval([]string) {
	v := c.params.Get("approvalPolicy")
	switch {
	case isUnset(v):
		c.decideOmittedApproval()
	case !c.p.allowsApproval(v):
		c.replaceApproval(formatValue(v) + " is not in " + c.p.approvalList())
	default:
		c.applyApproval(v.Raw(), "", "")
	}
}

func (c *decider) decideOmittedApproval() {
	p := c.p
	switch {
	case c.spec.startsThread && p.granular && len(p.approvals) == 3 && !c.addsDistrust():
		// Whatever the default is, it is allowed.
	case c.spec.startsThread && c.st.Defaults == nil:
		c.needsDefaults = true
	case c.spec.startsThread:
		text := c.defaultApproval()
		if d, err := rpc.ParseValue(text); err != nil || !p.allowsApproval(d.Root()) {
			c.replaceApproval("left out, it would be codex's own " + string(text) + ", which is not in " + p.approvalList())
		} else if c.addsDistrust() && c.st.Defaults.Approval == nil {
			c.applyApproval(text, ruleTrust, "left out, a project that is kept untrusted would have it asked for everything")
		} else if p.gatesApproval(text) {
			c.applyApproval(text, "", "")
		}
	case c.spec.opensThread && len(p.approvals) == 1 && !p.granular:
		// Left out, it comes from the stored thread; only one value can be right.
		c.replaceApproval("left out, it would be the thread's own, and only one value is in " + p.approvalList())
	case c.spec.opensThread && (!p.granular || len(p.approvals) < 3) && !c.hasAllowedApproval():
		// Measured: codex goes on with a goal or a queue as soon as a thread is open,
		// under what was stored; to refuse the answer is too late. On a loaded thread
		// it is ignored, so that nothing is compared with it.
		c.applyApproval(jsonString(p.approvals[0]), ruleApproval, "left out, it would be the thread's own, which may be more than "+p.approvalList())
		c.sent.Approval = nil
	}
}

// knownApproval tells whether the thread's own is known to be allowed.
func (c *decider) hasAllowedApproval() bool {
	if c.st.Thread == nil || c.st.Thread.Approval == nil {
		return false
	}
	d, err := rpc.ParseValue(c.st.Thread.Approval)
	return err == nil && (c.p.allowsApproval(d.Root()) || c.st.Thread.isGated(c.p))
}

// defaultApproval is what codex makes of a thread/start without one. Measured:
// null in the configuration is on-request, and untrusted in a project that is
// marked so.
func (c *decider) defaultApproval() json.RawMessage {
	switch {
	case c.st.Defaults.Approval != nil:
		return c.st.Defaults.Approval
	case c.trust == untrusted:
		return json.RawMessage(`"untrusted"`)
	}
	return json.RawMessage(`"on-request"`)
}

func (c *decider) replaceApproval(reason string) {
	c.applyApproval(jsonString(c.p.approvals[0]), ruleApproval, reason)
}

func (p *Policy) approvalList() string {
	names := p.approvals
	if p.granular {
		names = append(names[:len(names):len(names)], "granular")
	}
	return ruleApproval + " [" + strings.Join(names, ", ") + "]"
}

// asksAlways tells whether every command of a thread is asked for.
func (p *Policy) requiresUntrusted() bool {
	return !p.granular && !slices.ContainsFunc(p.approvals, func(name string) bool { return name != "untrusted" })
}

// allowsApproval takes the exact shapes only. Measured: codex also takes
// {"never": null} for "never", and an array for the booleans of granular.
func (p *Policy) allowsApproval(v rpc.Value) bool {
	if v.Kind() == rpc.Object {
		return p.granular && isGranular(v)
	}
	for _, name := range p.approvals {
		if v.Is(name) {
			return true
		}
	}
	return false
}

func isGranular(v rpc.Value) bool {
	inner := v.Get("granular")
	if v.Len() != 1 || inner.Kind() != rpc.Object {
		return false
	}
	for key, flag := range inner.Members() {
		if _, known := granularKeys[key]; !known || flag.Kind() != rpc.Bool {
			return false
		}
	}
	for key, required := range granularKeys {
		if required && !inner.Get(key).Exists() {
			return false
		}
	}
	return true
}

// approvalRank orders the approval policies by how much happens unasked; -1:
// not comparable.
func approvalRank(v rpc.Value) int {
	switch {
	case v.Is("untrusted"):
		return 0
	case v.Is("on-request"):
		return 1
	case v.Is("never"):
		return 2
	}
	return -1
}

// looserApproval tells whether what codex echoes asks less than what was sent.
func looserApproval(sent, echoed rpc.Value) bool {
	s, e := approvalRank(sent), approvalRank(echoed)
	if s >= 0 && e >= 0 {
		return e > s
	}
	if s >= 0 || e >= 0 {
		return true
	}
	for key := range granularKeys {
		// Measured: codex echoes all five, the ones left out as false.
		a, _ := sent.Get("granular").Get(key).Bool()
		b, _ := echoed.Get("granular").Get(key).Bool()
		if a != b {
			return true
		}
	}
	return false
}
