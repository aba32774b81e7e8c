package policy

import "codex-bridge/rpc"

// signIn refuses the ways to sign in that change more than who is signed in.
//
// Measured: with Bedrock codex writes another model provider into the user's
// configuration.
func (c *call) signIn([]string) {
	v := c.params.Get("type")
	for _, kind := range [...]string{"apiKey", "chatgpt", "chatgptDeviceCode", "chatgptAuthTokens"} {
		if v.Is(kind) {
			return
		}
	}
	c.refuse(rpc.CodeRefused, "params.type", ruleMethods, show(v)+" sets the model provider of every conversation in the user's configuration",
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
func (c *call) review([]string) {
	if c.p.asksAlways() && !c.st.Thread.gated(c.p) {
		c.refuse(rpc.CodeRefused, "", ruleApproval, "codex runs a review without asking for its commands, and "+c.p.approvalList()+" has each one asked for",
			"ask for the review in a turn; or add \"on-request\" to policy.approval")
		return
	}
	if v := c.params.Get("delivery"); !nothing(v) && !v.Is("inline") {
		c.dropField("delivery", ruleMode, "a review elsewhere would be a turn on a thread that nobody verified")
	}
}

// realtimeModel holds the model of a voice session, which is of another family
// than those of turns: a forbidden one is left to codex's configuration.
func (c *call) realtimeModel([]string) {
	v := c.params.Get("model")
	if nothing(v) {
		return
	}
	if name, ok := v.Text(); !ok || !c.p.allowsModel(name) {
		c.dropField("model", ruleModels, show(v)+" is not in "+c.p.modelList())
	}
}

// inventedPast takes out what a voice session is to believe was said before.
func (c *call) inventedPast([]string) {
	if !nothing(c.params.Get("initialItems")) {
		c.dropField("initialItems", ruleMode, "items of any role, the developer's too: a past that never was")
	}
}

// threadServers keeps a project's servers from being started by asking for them.
// Measured: asked for a thread, codex builds the configuration anew, without the
// overlay that the thread was opened with; a project that the user's file trusts
// counts then, whatever policy.project_trust says.
func (c *call) threadServers([]string) {
	if c.p.trust == trustNever && !nothing(c.params.Get("threadId")) {
		c.dropField("threadId", ruleTrust, "for a thread, codex would start the servers that the project's own configuration names")
	}
}
