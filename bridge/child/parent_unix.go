//go:build unix && (!linux || portable)

package child

// PrepareEndWithParent must be called before the start of a child for [EndWithParent].
func PrepareEndWithParent() { ensureSentry() }

// EndWithParent has the child with this process id get SIGTERM if the bridge is killed. The caller
// calls done when the child has ended.
func EndWithParent(pid int) (done func()) {
	watch(pid, "TERM")
	return func() { unwatch(pid) }
}
