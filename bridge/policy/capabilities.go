package policy

import (
	"fmt"

	"codex-bridge/bridge/config"
	"codex-bridge/rpc"
)

// maxOptOuts bounds capabilities.optOutNotificationMethods. Codex 0.169 has 86 notifications.
const maxOptOuts = 4096

// capabilities holds what a client says of itself to its shape. Measured with Codex
// 0.169: it takes an array in place of the object, by the order of its fields.
func (c *call) capabilities([]string) {
	capabilities := c.params.Get("capabilities")
	if !nothing(capabilities) && capabilities.Kind() != rpc.Object {
		c.refuse(rpc.CodeInvalidParams, "params.capabilities", ruleMode, "it is "+capabilities.Kind().String(), "send an object")
		return
	}
	const field = "params.capabilities.optOutNotificationMethods"
	list := capabilities.Get("optOutNotificationMethods")
	if !nothing(list) && list.Kind() != rpc.Array {
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
func (p *Policy) UsesProfiles() bool { return p.mode == config.Enforce && p.limit != readOnly }
