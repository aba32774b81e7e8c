package policy

import "codex-bridge/rpc"

// foreignHistory refuses to open a thread from a file of the client's choice or
// from a history of its invention: both put words into the model's mouth.
func (c *call) foreignHistory(fields []string) {
	for _, field := range fields {
		if !nothing(c.params.Get(field)) {
			c.refuse(rpc.CodeRefused, "params."+field, "policy.mode",
				"a thread is opened by its id, not from a "+field+" that the client brings", "send threadId only")
			return
		}
	}
}

// inventedOutput refuses the result of a tool call that no tool made.
func (c *call) inventedOutput(fields []string) {
	for _, field := range fields {
		if !nothing(c.params.Get(field)) {
			c.refuse(rpc.CodeRefused, "params."+field, "policy.mode",
				"the output of a tool comes from the tool", "send the text as input")
			return
		}
	}
}

// disabledPlugins keeps the client from switching plugins off. Measured: their hooks
// go with them, in this turn and in those to come. An empty list switches all on.
func (c *call) disabledPlugins(fields []string) {
	for _, field := range fields {
		if v := c.params.Get(field); !nothing(v) && (v.Kind() != rpc.Array || v.Len() > 0) {
			c.dropField(field, ruleMode, "with a plugin its hooks would be switched off, and hooks watch the thread")
		}
	}
}

// capabilityRoots takes out folders from which a hosting platform would load
// code and instructions.
func (c *call) capabilityRoots(fields []string) {
	for _, field := range fields {
		if !nothing(c.params.Get(field)) {
			c.dropField(field, "policy.mode", "capabilities are chosen by codex's own configuration")
		}
	}
}
