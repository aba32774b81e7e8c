//go:build unix && (!linux || portable)

package codex

import (
	"strconv"
	"syscall"
)

// dieBySignal ends this process by sig. Go handles signals that dump core (SIGABRT, SIGQUIT) itself, by
// printing goroutines and exiting with 2. So this process becomes a shell, which has the default
// handlers, and sends itself the signal.
func dieBySignal(sig syscall.Signal) {
	_ = syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -" + strconv.Itoa(int(sig)) + " $$"}, nil)
}
