//go:build unix && (!linux || portable)

package codex

import (
	"os"
	"os/signal"
	"syscall"
)

// dieBySignal ends this process by sig.
func dieBySignal(sig syscall.Signal) {
	signal.Reset(sig)
	_ = syscall.Kill(os.Getpid(), sig)
}
