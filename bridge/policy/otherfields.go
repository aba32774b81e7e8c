package policy

import (
	"fmt"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/rpc"
)

// checkLogin refuses kinds of login that change the configuration.
//
// Measured with Codex 0.169: with Bedrock it writes another model provider into the user's
// configuration.
func (c *request) checkLogin() {
	v := c.params.Get("type")
	for _, kind := range [...]string{"apiKey", "chatgpt", "chatgptDeviceCode", "chatgptAuthTokens"} {
		if v.Is(kind) {
			return
		}
	}
	c.refuse(rpc.CodeRefused, "params.type", RuleMethods, FormatValue(v)+" changes the model provider of every conversation",
		"sign in with codex login in a terminal")
}

// AccountChange returns the decision that logs a message by which a client signs in or out: later conversations,
// also those of other clients, are paid by another account, which may see them. false for other messages.
func AccountChange(m *rpc.Message) (Decision, bool) {
	how := ""
	switch m.Method {
	case "account/login/start":
		how = "the client signs in with " + FormatValue(m.Params.Get("type"))
	case "account/logout":
		how = "the client signs the user out"
	default:
		return Decision{}, false
	}
	return Decision{Verdict: Accept, Changes: []Change{{Field: "params", Rule: RuleMethods + "." + m.Method, Reason: how}}}, true
}

// checkReview checks review/start, and keeps the review on its verified thread.
//
// Measured with Codex 0.169: a review runs as if approvalPolicy were never. Codex runs the model's
// commands and patches in the thread's sandbox without a question. So a review is refused if the
// policy requires a question for each command, or leaves the questions of policy.rule and
// policy.escalation to Codex, unless the bridge asks by hooks, which run in a review.
func (c *request) checkReview() {
	t := c.st.Thread
	if string(t.Approval) == `"untrusted"` && (c.p.asksEscalation || c.p.rules != nil && c.p.rules.Asks()) {
		c.refuse(rpc.CodeRefused, "", RuleGate, "Codex runs the commands of a review without a question, and policy.rule or policy.escalation requires one for some",
			"set policy.gate = true and open the thread again, or request the review in a turn")
		return
	}
	if c.p.requiresUntrusted() && !t.IsGated(c.p) {
		c.refuse(rpc.CodeRefused, "", RuleApproval, "Codex runs the commands of a review without a question, and "+c.p.ApprovalList()+" requires one for each",
			"request the review in a turn, or add \"on-request\" to policy.approval")
		return
	}
	if v := c.params.Get("delivery"); !IsUnset(v) && !v.Is("inline") {
		c.dropField("delivery", RuleMode, "a detached review would run in an unverified thread")
	}
}

// decideRealtimeModel removes a forbidden model of a voice session. Codex's configuration then
// gives the model, which is of another family than a turn's.
func (c *request) decideRealtimeModel() {
	v := c.params.Get("model")
	if IsUnset(v) {
		return
	}
	if name, ok := v.Text(); !ok || !c.p.AllowsModel(name) {
		c.dropField("model", RuleModels, FormatValue(v)+" is not in "+c.p.ModelList())
	}
}

// dropInitialItems removes earlier messages that the client claims for a voice session.
func (c *request) dropInitialItems() {
	if !IsUnset(c.params.Get("initialItems")) {
		c.dropField("initialItems", RuleMode, "the client could invent earlier messages, also of the developer")
	}
}

// dropServersThread removes the thread of mcpServerStatus/list.
//
// Measured with Codex 0.169: for a thread, Codex loads the configuration again without the thread's
// overlay, and starts the servers of a project that the user's file trusts, regardless of
// policy.project_trust.
func (c *request) dropServersThread(fields []string) {
	for _, field := range fields { // the others say which server of the thread
		if c.p.trust == trustNever && !IsUnset(c.params.Get(field)) {
			c.dropField(field, ruleTrust, "for a thread, Codex would start the servers of the project's configuration")
		}
	}
}

// refuseHistory refuses to open a thread from a file or a history of the client, which could
// contain invented messages of the model.
func (c *request) refuseHistory(fields []string) {
	for _, field := range fields {
		if !IsUnset(c.params.Get(field)) {
			c.refuse(rpc.CodeRefused, "params."+field, RuleMode,
				"a thread is opened by its id, not from a "+field+" of the client", "send threadId only")
			return
		}
	}
}

// refuseToolOutput refuses a tool result that the client sends.
func (c *request) refuseToolOutput(fields []string) {
	for _, field := range fields {
		if !IsUnset(c.params.Get(field)) {
			c.refuse(rpc.CodeRefused, "params."+field, RuleMode,
				"only a tool may send its output", "send the text as input")
			return
		}
	}
}

// dropDisabledPlugins removes disabledPluginIds. Measured with Codex 0.169: a disabled plugin's
// hooks do not run, in this turn and in later ones. An empty list enables all plugins.
func (c *request) dropDisabledPlugins(fields []string) {
	for _, field := range fields {
		if v := c.params.Get(field); !IsUnset(v) && (v.Kind() != rpc.Array || v.Len() > 0) {
			c.dropField(field, RuleMode, "it would disable the plugins' hooks, which check the thread")
		}
	}
}

// dropCapabilityRoots removes folders from which a hosting platform would load code and
// instructions.
func (c *request) dropCapabilityRoots(fields []string) {
	for _, field := range fields {
		if !IsUnset(c.params.Get(field)) {
			c.dropField(field, RuleMode, "only Codex's configuration chooses capabilities")
		}
	}
}

// maxOptOuts bounds capabilities.optOutNotificationMethods. Codex 0.169 has 86 notifications.
const maxOptOuts = 4096

// checkCapabilities refuses capabilities of another form. Measured with Codex 0.169: it also reads
// an array, in the order of the fields.
func (c *request) checkCapabilities() {
	capabilities := c.params.Get("capabilities")
	if !IsUnset(capabilities) && capabilities.Kind() != rpc.Object {
		c.refuse(rpc.CodeInvalidParams, "params.capabilities", RuleMode, "it is "+capabilities.Kind().String(), "send an object")
		return
	}
	const field = "params.capabilities.optOutNotificationMethods"
	list := capabilities.Get("optOutNotificationMethods")
	if !IsUnset(list) && list.Kind() != rpc.Array {
		c.refuse(rpc.CodeInvalidParams, field, RuleMode, "it is "+list.Kind().String(), "send an array of method names")
		return
	}
	if n := list.Len(); n > maxOptOuts {
		c.refuse(rpc.CodeInvalidParams, field, RuleMode, fmt.Sprintf("it has %d names", n), fmt.Sprintf("name %d at most", maxOptOuts))
	}
}

// UsesProfiles reports whether the bridge may name a permissions profile in a request. Measured
// with Codex 0.169: without the client's capability experimentalApi, Codex then refuses to open the
// thread.
func (p *Policy) UsesProfiles() bool { return p.mode == config.Enforce }
