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

func (c *call) approval([]string) {
	v := c.params.Get("approvalPolicy")
	switch {
	case nothing(v):
		c.approvalLeftOut()
	case !c.p.allowsApproval(v):
		c.setApproval(show(v) + " is not in " + c.p.approvalList())
	default:
		c.takeApproval(v.Raw(), "", "")
	}
}

func (c *call) approvalLeftOut() {
	p := c.p
	switch {
	case c.row.starts && p.granular && len(p.approvals) == 3 && !c.distrusts():
		// Whatever the default is, it is allowed.
	case c.row.starts && c.st.Defaults == nil:
		c.needs = true
	case c.row.starts:
		text := c.defaultApproval()
		if d, err := rpc.ParseValue(text); err != nil || !p.allowsApproval(d.Root()) {
			c.setApproval("left out, it would be codex's own " + string(text) + ", which is not in " + p.approvalList())
		} else if c.distrusts() && c.st.Defaults.Approval == nil {
			c.takeApproval(text, ruleTrust, "left out, a project that is kept untrusted would have it asked for everything")
		} else if p.gates(text) {
			c.takeApproval(text, "", "")
		}
	case c.row.opens && len(p.approvals) == 1 && !p.granular:
		// Left out, it comes from the stored thread; only one value can be right.
		c.setApproval("left out, it would be the thread's own, and only one value is in " + p.approvalList())
	case c.row.opens && (!p.granular || len(p.approvals) < 3) && !c.knownApproval():
		// Measured: codex goes on with a goal or a queue as soon as a thread is open,
		// under what was stored; to refuse the answer is too late. On a loaded thread
		// it is ignored, so that nothing is compared with it.
		c.takeApproval(quote(p.approvals[0]), ruleApproval, "left out, it would be the thread's own, which may be more than "+p.approvalList())
		c.sent.Approval = nil
	}
}

// knownApproval tells whether the thread's own is known to be allowed.
func (c *call) knownApproval() bool {
	if c.st.Thread == nil || c.st.Thread.Approval == nil {
		return false
	}
	d, err := rpc.ParseValue(c.st.Thread.Approval)
	return err == nil && (c.p.allowsApproval(d.Root()) || c.st.Thread.gated(c.p))
}

// defaultApproval is what codex makes of a thread/start without one. Measured:
// null in the configuration is on-request, and untrusted in a project that is
// marked so.
func (c *call) defaultApproval() json.RawMessage {
	switch {
	case c.st.Defaults.Approval != nil:
		return c.st.Defaults.Approval
	case c.own == untrusted:
		return json.RawMessage(`"untrusted"`)
	}
	return json.RawMessage(`"on-request"`)
}

func (c *call) setApproval(reason string) {
	c.takeApproval(quote(c.p.approvals[0]), ruleApproval, reason)
}

func (p *Policy) approvalList() string {
	names := p.approvals
	if p.granular {
		names = append(names[:len(names):len(names)], "granular")
	}
	return ruleApproval + " [" + strings.Join(names, ", ") + "]"
}

// asksAlways tells whether every command of a thread is asked for.
func (p *Policy) asksAlways() bool {
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
