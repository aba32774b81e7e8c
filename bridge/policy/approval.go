package policy

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"codex-bridge.example/rpc"
)

// granularKeys are the booleans of {"granular": {…}}; true if Codex requires the key.
var granularKeys = map[string]bool{
	"sandbox_approval":    true,
	"rules":               true,
	"mcp_elicitations":    true,
	"skill_approval":      false,
	"request_permissions": false,
}

// sentApproval is the approval policy that a message gives its thread. The zero value gives none.
type sentApproval struct {
	gated *bool           // Decision.Gated
	sent  json.RawMessage // SentSettings.Approval
}

// approvalRule decides about the approval policy of a message.
type approvalRule struct {
	*request
	project project
	overlay rpc.Value // the approval policy in the overlay
}

func decideApproval(r *request, in project, o overlaySettings) sentApproval {
	c := approvalRule{r, in, o.approval}
	v := c.params.Get("approvalPolicy")
	switch {
	case IsUnset(v) && c.overlay.Exists():
		return c.decideOverlayApproval()
	case IsUnset(v) && c.spec.startsThread:
		return c.decideDefaultApproval()
	case IsUnset(v) && c.spec.opensThread:
		return c.decideRestoredApproval()
	case IsUnset(v): // a turn keeps that of its thread
		return sentApproval{}
	case !c.p.acceptsApproval(v):
		return c.replaceApproval(v, FormatValue(v)+" is not in "+c.p.ApprovalList())
	}
	return c.applyApproval(v.Raw(), "", "")
}

// askedByConfig is the reason for a field that the client has set in its overlay.
const askedByConfig = "the client's config asks for it"

// decideOverlayApproval decides about a request whose overlay has an approval policy.
//
// Measured with Codex 0.169: a resume takes it in place of the thread's, but a fork only for a thread that
// has none.
func (c *approvalRule) decideOverlayApproval() sentApproval {
	if c.m.Method == "thread/fork" {
		v, known := c.restoredApproval()
		if !known {
			return sentApproval{}
		}
		if c.hasStoredApproval() && !c.narrowsApproval(v) {
			return c.decideRestoredApproval()
		}
	}
	if v := c.overlay; !c.p.acceptsApproval(v) {
		return c.replaceApproval(v, askedByConfig+", and "+FormatValue(v)+" is not in "+c.p.ApprovalList())
	}
	return c.applyApproval(c.overlay.Raw(), RuleApproval, askedByConfig)
}

// hasStoredApproval reports whether the thread of a resume or fork has an approval policy of its own.
func (c *request) hasStoredApproval() bool {
	return c.st.Thread != nil && c.st.Thread.Approval != nil || string(c.st.StoredApproval) != "null"
}

// narrowsApproval reports whether the overlay's approval policy is stricter than the thread's v.
func (c *approvalRule) narrowsApproval(v rpc.Value) bool {
	if isUntrusted(v) || questionsOf(v).areFew() || c.st.Thread.IsGated(c.p) || c.restoresGate(v) {
		return false
	}
	few := questionsOf(c.overlay).areFew() && !(c.overlay.Is("never") && c.p.maxLevel == FullAccess)
	return few || isUntrusted(c.overlay)
}

// allowsAllApprovals reports whether the policy allows every approval policy.
func (p *Policy) allowsAllApprovals() bool { return p.granular && len(p.approvals) == 3 }

// decideDefaultApproval decides about a thread/start without approvalPolicy.
func (c *approvalRule) decideDefaultApproval() sentApproval {
	p := c.p
	if p.allowsAllApprovals() && !c.project.addsDistrust() {
		return sentApproval{}
	}
	if c.st.Defaults == nil {
		c.want(WantConfiguration)
		return sentApproval{}
	}
	text := c.defaultApproval()
	switch v := parseApproval(text); {
	case !p.acceptsApproval(v):
		return c.replaceApproval(v, "if omitted, Codex would use its default "+string(text)+", which is not in "+p.ApprovalList())
	case c.project.addsDistrust() && c.st.Defaults.Approval == nil:
		return c.applyApproval(text, ruleTrust, "if omitted, Codex would use untrusted in a project that the bridge keeps untrusted")
	case c.st.Defaults.Approval == nil && isUntrusted(v) && !p.acceptsApproval(parseApproval(JSONString("on-request"))):
		// Codex takes the first entry of its projects that applies, and the bridge any that distrusts one.
		return c.applyApproval(text, RuleApproval, "if omitted, Codex's own projects would decide between untrusted and on-request, and on-request is not in "+p.ApprovalList())
	case p.gatesApproval(text):
		return c.applyApproval(text, "", "")
	}
	return sentApproval{}
}

// decideRestoredApproval decides about a resume or fork without approvalPolicy.
func (c *approvalRule) decideRestoredApproval() (found sentApproval) {
	p := c.p
	v, known := c.restoredApproval()
	if !known {
		return found
	}
	if c.restoresGate(v) {
		return c.decideRestoredGate(v)
	}
	if p.allowsAllApprovals() {
		return found
	}
	only := len(p.approvals) == 1 && !p.granular
	switch kept := c.hasAllowedApproval(); {
	case kept && !only:
		// The thread keeps it, and the gate.
	case kept && c.st.Thread.IsGated(p):
		return c.decideRestoredGate(v)
	case only && p.AllowsApproval(v):
		// The stored thread gives an omitted value, and the policy allows only one.
		return c.applyFirst("if omitted, Codex would use the thread's value, and the policy allows only one in " + p.ApprovalList())
	case v.Is("on-request") && p.AllowsApproval(v) && c.st.StoredGate != nil && !*c.st.StoredGate:
		// The bridge never asked about this thread. Where on-request is Codex's default, Codex would take untrusted in a
		// project that the bridge keeps untrusted.
		found = c.applyApproval(v.Raw(), RuleApproval, "if omitted, Codex might use untrusted in place of the thread's value")
		found.sent = nil // see below
	case v.Is("on-request") && p.AllowsApproval(v):
		// A thread that the bridge asks about in Codex's place has it, too, and this may be one. The policy's first
		// value is as strict, but for never: with full access Codex runs tools of MCP servers under it.
		//
		// Measured with Codex 0.169: when a thread opens, Codex continues a goal or a queue at
		// once, under the stored policy, so a later refusal would be too late. A loaded thread
		// ignores this field, so nothing compares it with the response.
		to := JSONString(p.approvals[0])
		if p.approvals[0] == "never" {
			to = v.Raw()
		}
		found = c.applyApproval(to, RuleApproval, "if omitted, Codex would use the thread's value, which may not be in "+p.ApprovalList())
		found.sent = nil
	case p.acceptsApproval(v):
		return c.applyApproval(v.Raw(), "", "")
	default:
		return c.replaceApproval(v, "if omitted, Codex would use the thread's value "+FormatValue(v)+", which is not in "+p.ApprovalList())
	}
	return found
}

// restoredApproval returns the approval policy that Codex would take for a resume or fork without one:
// that of the thread, or its default for a thread without one. It returns an empty object, which counts as
// one without questions, if Codex knows no such thread. known is false if a fact is missing.
func (c *approvalRule) restoredApproval() (v rpc.Value, known bool) {
	text := c.st.StoredApproval
	if c.st.Thread != nil && c.st.Thread.Approval != nil {
		text = c.st.Thread.Approval
	}
	switch {
	case text == nil && !c.st.UnknownThread:
		c.want(WantStoredApproval)
		return rpc.Value{}, false
	case text == nil && c.p.requiresUntrusted() && !c.p.gate:
		text = JSONString("untrusted") // a refusal would hide Codex's own error
	case text == nil:
		return parseApproval(nil), true
	case string(text) == "null":
		if c.st.Defaults == nil {
			c.want(WantConfiguration)
			return rpc.Value{}, false
		}
		text = c.defaultApproval()
	}
	return parseApproval(text), true
}

// parseApproval returns an approval policy. A text that is not JSON becomes an empty object.
func parseApproval(text json.RawMessage) rpc.Value {
	d, err := rpc.ParseValue(text)
	if err != nil {
		d, _ = rpc.ParseValue([]byte("{}"))
	}
	return d.Root()
}

// hasAllowedApproval reports whether the bridge knows the thread's own approval policy and the
// policy allows it.
func (c *request) hasAllowedApproval() bool {
	if c.st.Thread == nil || c.st.Thread.Approval == nil {
		return false
	}
	return c.p.AllowsApproval(parseApproval(c.st.Thread.Approval)) || c.st.Thread.IsGated(c.p)
}

// defaultApproval returns the approval policy of a thread/start without one. Measured with Codex
// 0.169: null in the configuration means on-request, or untrusted in a project marked so.
func (c *approvalRule) defaultApproval() json.RawMessage {
	switch {
	case c.st.Defaults.Approval != nil:
		return c.st.Defaults.Approval
	case c.project.trust == untrusted:
		return json.RawMessage(`"untrusted"`)
	}
	return json.RawMessage(`"on-request"`)
}

// replaceApproval replaces the approval policy v, which the policy does not allow, by one under which
// no more is allowed. It refuses the request if the policy has none.
func (c *approvalRule) replaceApproval(v rpc.Value, reason string) sentApproval {
	switch {
	case questionsOf(v).areFew():
		return c.reduceApproval(v, c.p.gatesFirst(), reason)
	case !isUntrusted(v) && c.p.approvals[0] == "never" && c.p.maxLevel == FullAccess:
		return c.reduceToTools(v, reason)
	case !isUntrusted(v):
		return c.applyFirst(reason)
	case c.p.AcceptsApprovalName("untrusted"):
		return c.applyApproval(JSONString("untrusted"), RuleApproval, reason)
	default:
		c.refuse(rpc.CodeRefused, "params.approvalPolicy", RuleApproval, reason+", and under each allowed value commands run in the sandbox that untrusted asks about",
			`send `+strconv.Quote(c.p.approvals[0])+`, add "untrusted" to `+RuleApproval+`, or set policy.gate = true beside "on-request"`)
		return sentApproval{}
	}
}

// isUntrusted reports whether Codex reads v as untrusted.
func isUntrusted(v rpc.Value) bool {
	return v.Is("untrusted") || v.Len() == 1 && v.Get("untrusted").Exists()
}

// applyFirst sets the policy's first approval policy.
func (c *approvalRule) applyFirst(reason string) sentApproval {
	return c.applyApproval(JSONString(c.p.approvals[0]), RuleApproval, reason)
}

// ApprovalList returns policy.approval for a message.
func (p *Policy) ApprovalList() string {
	names := p.approvals
	if p.granular {
		names = append(names[:len(names):len(names)], "granular")
	}
	return p.listName(RuleApproval) + " [" + strings.Join(names, ", ") + "]"
}

// requiresUntrusted reports whether the policy allows only untrusted.
func (p *Policy) requiresUntrusted() bool {
	return !p.granular && !slices.ContainsFunc(p.approvals, func(name string) bool { return name != "untrusted" })
}

// AllowsApproval reports whether the policy allows v in exactly the schema's form. Measured with
// Codex 0.169: it also reads {"never": null} as "never", and an array as the booleans of granular.
func (p *Policy) AllowsApproval(v rpc.Value) bool {
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

// acceptsApproval reports whether a client may request v: a value that the policy allows, or a
// stricter one.
//
// The approval policies are no chain. Under never Codex asks nothing, but a command that needs
// approval fails; under the others a person may let it leave the sandbox. Under untrusted Codex
// runs an accepted command again outside the sandbox after a failure; under on-request it does not.
// So only one value is stricter than another: untrusted with the gate, where Codex has on-request
// and the bridge asks about each command, is on-request with more questions.
func (p *Policy) acceptsApproval(v rpc.Value) bool {
	return p.AllowsApproval(v) || v.Is("untrusted") && p.AcceptsApprovalName("untrusted")
}

// AcceptsApprovalName reports whether a client may choose the approval policy of this name.
func (p *Policy) AcceptsApprovalName(name string) bool {
	return slices.Contains(p.approvals, name) || name == "untrusted" && p.gate && slices.Contains(p.approvals, GatedApproval)
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

// approvalRank orders approval policies; a higher rank asks less. It returns -1 for a granular or
// unknown one.
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

// LooserApproval reports whether the echoed approval policy asks less than the sent one, or is not
// comparable.
func LooserApproval(sent, echoed rpc.Value) bool {
	s, e := approvalRank(sent), approvalRank(echoed)
	if s >= 0 && e >= 0 {
		return e > s
	}
	if s >= 0 || e >= 0 {
		return true
	}
	for key := range granularKeys {
		// Measured with Codex 0.169: it echoes all five keys, and false for an omitted one.
		a, _ := sent.Get("granular").Get(key).Bool()
		b, _ := echoed.Get("granular").Get(key).Bool()
		if a != b {
			return true
		}
	}
	return false
}
