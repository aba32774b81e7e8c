package policy

import (
	"slices"

	"codex-bridge/rpc"
)

// heard are the notifications of Codex that decisions lean on: what is in force in a
// thread, which files a patch is about, and whether a hook has failed.
var heard = []string{"hook/completed", "item/started", "thread/settings/updated"}

// Hears tells whether decisions lean on a notification of Codex. A client that does
// not want to hear it is not asked by Codex, but by who acts on the decisions.
func Hears(method string) bool { return slices.Contains(heard, method) }

// optedOut keeps a client from silencing what the bridge has to hear. Measured: codex
// then says it to nobody.
func (c *call) optedOut([]string) {
	const key, field = "optOutNotificationMethods", "capabilities.optOutNotificationMethods"
	capabilities := c.params.Get("capabilities")
	list := capabilities.Get(key)
	kept, n := []byte{'['}, 0
	for method := range list.Elements() {
		if text, _ := method.Text(); Hears(text) {
			continue
		}
		if n++; n > 1 {
			kept = append(kept, ',')
		}
		kept = append(kept, method.Raw()...)
	}
	if list.Kind() == rpc.Array && n < list.Len() {
		c.set(capabilities, key, field, append(kept, ']'), ruleMode, "the bridge has to hear them; the client will not")
	}
}
