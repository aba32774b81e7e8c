//go:build unix

package child

// PrepareEndWithParent must be called before the start of a child for [EndWithParent].
func PrepareEndWithParent() { ensureSentry() }

// EndWithParent has the Codex with this process id end if the bridge is killed: it gets SIGTERM, once
// more a moment later, and then SIGKILL, with its descendants. The caller calls done when the child has
// ended.
func EndWithParent(pid int) (done func()) {
	watch(pid, "TERM")
	return func() { unwatch(pid) }
}
