package policy

import (
	"encoding/json"
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
	case c.row.opens:
		c.sent.Approval = clone(v)
	}
}

func (c *call) approvalLeftOut() {
	p := c.p
	switch {
	case c.row.starts && p.granular && len(p.approvals) == 3:
		// Whatever the default is, it is allowed.
	case c.row.starts && c.st.Defaults == nil:
		c.needs = true
	case c.row.starts:
		// Measured: null in the configuration is on-request.
		text := c.st.Defaults.Approval
		if text == nil {
			text = json.RawMessage(`"on-request"`)
		}
		if d, err := rpc.ParseValue(text); err != nil || !p.allowsApproval(d.Root()) {
			c.setApproval("left out, it would be codex's own " + string(text) + ", which is not in " + p.approvalList())
		}
	case c.row.opens && len(p.approvals) == 1 && !p.granular:
		// Left out, it comes from the stored thread; only one value can be right.
		c.setApproval("left out, it would be the thread's own, and only one value is in " + p.approvalList())
	}
}

func (c *call) setApproval(reason string) {
	to := quote(c.p.approvals[0])
	c.setField("approvalPolicy", to, ruleApproval, reason)
	c.sent.Approval = to
}

func (p *Policy) approvalList() string {
	names := p.approvals
	if p.granular {
		names = append(names[:len(names):len(names)], "granular")
	}
	return ruleApproval + " [" + strings.Join(names, ", ") + "]"
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
