package policy

import (
	"codex-bridge/bridge/config"
	"codex-bridge/rpc"
	"fmt"
)

// signIn refuses the ways to sign in that change more than who is signed in.
//
// Measured: with Bedrock codex writes another model provider into the user's
// configuration.
func (c *decider) checkLogin([]string) {
	v := c.params.Get("type")
	for _, kind := range [...]string{"apiKey", "chatgpt", "chatgptDeviceCode", "chatgptAuthTokens"} {
		if v.Is(kind) {
			return
		}
	}
	c.refuse(rpc.CodeRefused, "params.type", ruleMethods, formatValue(v)+" sets the model provider of every conversation in the user's configuration",
		"sign in with it by hand, without the editor")
}

// review holds a review to the approval policy that it runs under, and keeps it on
// the thread it was asked on, which is verified.
//
// Measured: codex runs it as if approvalPolicy were never, whatever the thread's:
// commands and patches of the model are not asked for, in the thread's sandbox. So
// it passes where a thread may run commands in its sandbox unasked, and not where
// every command is to be asked for, unless it is the bridge that asks: hooks run in a
// review (measured).
func (c *decider) checkReview([]string) {
	if c.p.requiresUntrusted() && !c.st.Thread.isGated(c.p) {
		c.refuse(rpc.CodeRefused, "", ruleApproval, "codex runs a review without asking for its commands, and "+c.p.approvalList()+" has each one asked for",
			"ask for the review in a turn; or add \"on-request\" to policy.approval")
		return
	}
	if v := c.params.Get("delivery"); !isUnset(v) && !v.Is("inline") {
		c.dropField("delivery", ruleMode, "a review elsewhere would be a turn on a thread that nobody verified")
	}
}

// realtimeModel holds the model of a voice session, which is of another family
// than those of turns: a forbidden one is left to codex's configuration.
func (c *decider) decideRealtimeModel([]string) {
	v := c.params.Get("model")
	if isUnset(v) {
		return
	}
	if name, ok := v.Text(); !ok || !c.p.AllowsModel(name) {
		c.dropField("model", ruleModels, formatValue(v)+" is not in "+c.p.modelList())
	}
}

// inventedPast takes out what a voice session is to believe was said before.
func (c *decider) dropInitialItems([]string) {
	if !isUnset(c.params.Get("initialItems")) {
		c.dropField("initialItems", ruleMode, "items of any role, the developer's too: a past that never was")
	}
}

// threadServers keeps a project's servers from being started by asking for them.
// Measured: asked for a thread, codex builds the configuration anew, without the
// overlay that the thread was opened with; a project that the user's file trusts
// counts then, whatever policy.project_trust says.
func (c *decider) dropServersThread([]string) {
	if c.p.trust == trustNever && !isUnset(c.params.Get("threadId")) {
		c.dropField("threadId", ruleTrust, "for a thread, codex would start the servers that the project's own configuration names")
	}
}

// foreignHistory refuses to open a thread from a file of the client's choice or
// from a history of its invention: both put words into the model's mouth.
func (c *decider) refuseHistory(fields []string) {
	for _, field := range fields {
		if !isUnset(c.params.Get(field)) {
			c.refuse(rpc.CodeRefused, "params."+field, ruleMode,
				"a thread is opened by its id, not from a "+field+" that the client brings", "send threadId only")
			return
		}
	}
}

// inventedOutput refuses the result of a tool call that no tool made.
func (c *decider) refuseToolOutput(fields []string) {
	for _, field := range fields {
		if !isUnset(c.params.Get(field)) {
			c.refuse(rpc.CodeRefused, "params."+field, ruleMode,
				"the output of a tool comes from the tool", "send the text as input")
			return
		}
	}
}

// disabledPlugins keeps the client from switching plugins off. Measured: their hooks
// go with them, in this turn and in those to come. An empty list switches all on.
func (c *decider) dropDisabledPlugins(fields []string) {
	for _, field := range fields {
		if v := c.params.Get(field); !isUnset(v) && (v.Kind() != rpc.Array || v.Len() > 0) {
			c.dropField(field, ruleMode, "with a plugin its hooks would be switched off, and hooks watch the thread")
		}
	}
}

// capabilityRoots takes out folders from which a hosting platform would load
// code and instructions.
func (c *decider) dropCapabilityRoots(fields []string) {
	for _, field := range fields {
		if !isUnset(c.params.Get(field)) {
			c.dropField(field, ruleMode, "capabilities are chosen by codex's own configuration")
		}
	}
}

// maxOptOuts bounds capabilities.optOutNotificationMethods. Codex 0.169 has 86 notifications.
const maxOptOuts = 4096

// capabilities holds what a client says of itself to its shape. Measured with Codex
// 0.169: it takes an array in place of the object, by the order of its fields.
func (c *decider) checkCapabilities([]string) {
	capabilities := c.params.Get("capabilities")
	if !isUnset(capabilities) && capabilities.Kind() != rpc.Object {
		c.refuse(rpc.CodeInvalidParams, "params.capabilities", ruleMode, "it is "+capabilities.Kind().String(), "send an object")
		return
	}
	const field = "params.capabilities.optOutNotificationMethods"
	list := capabilities.Get("optOutNotificationMethods")
	if !isUnset(list) && list.Kind() != rpc.Array {
		c.refuse(rpc.CodeInvalidParams, field, ruleMode, "it is "+list.Kind().String(), "send an array of method names")
		return
	}
	if n := list.Len(); n > maxOptOuts {
		c.refuse(rpc.CodeInvalidParams, field, ruleMode, fmt.Sprintf("it has %d names", n), fmt.Sprintf("name %d at most", maxOptOuts))
	}
}

// UsesProfiles reports whether the bridge may name a permissions profile in a request.
// Measured with Codex 0.169: a client needs the capability experimentalApi for that, or
// Codex refuses to open the thread.
func (p *Policy) UsesProfiles() bool { return p.mode == config.Enforce && p.maxLevel != readOnly }
