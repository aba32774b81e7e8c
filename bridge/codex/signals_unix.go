//go:build unix

package codex

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// forwarded are the signals an editor or a person may send us and mean codex.
var forwarded = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
}

// Signals is the channel for Run. SIGPIPE is caught and dropped: a client that
// closes its end of our stdout must not end codex (measured); it is not ignored,
// since codex would inherit that.
func Signals() <-chan os.Signal {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	stop := make(chan os.Signal, len(forwarded))
	signal.Notify(stop, forwarded...)
	return stop
}

// EndsIt tells whether codex is to be gone some time after this signal.
func IsTermination(sig os.Signal) bool { return sig != syscall.SIGUSR1 && sig != syscall.SIGUSR2 }

// Mirror ends this process as codex ended: with its status, or by its signal.
func ExitLike(state *os.ProcessState) {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		os.Exit(state.ExitCode())
	}
	sig := status.Signal()
	disableCoreDump()
	dieBySignal(sig)
	time.Sleep(time.Second) // it comes to another thread, a moment later
	// A signal that does not end us, or not yet: the shell's way of saying it.
	os.Exit(128 + int(sig))
}

// noCore: the memory worth looking at was codex's, not ours.
func disableCoreDump() { _ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) }
