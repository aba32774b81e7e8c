package policy

import (
	"strconv"

	"codex-bridge.example/rpc"
)

// maxPaths bounds the paths in the lists of one message. The bridge resolves each path, and
// compares it with the folders that commands can write.
const maxPaths = 256

// pathLists are the params that hold lists of paths, in any method.
var pathLists = []string{"cwds", "environments", "extraRoots", "roots", "runtimeWorkspaceRoots", "sandboxPolicy"}

// checkPathCount refuses a message with too many paths, before one of them is resolved.
func (c *request) checkPathCount() {
	count := 0
	for _, field := range pathLists {
		if count += countElements(c.params.Get(field)); count > maxPaths {
			c.refuse(rpc.CodeTooLarge, "params."+field, RuleRoots, "the message has more than "+strconv.Itoa(maxPaths)+" paths", "send fewer paths in one message")
			return
		}
	}
}

// countElements returns the number of elements of the arrays in a value, at any depth.
func countElements(v rpc.Value) (count int) {
	for e := range v.Elements() {
		count += 1 + countElements(e)
	}
	for _, member := range v.Members() {
		count += countElements(member)
	}
	return count
}
