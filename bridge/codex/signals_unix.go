//go:build unix

package codex

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// forwarded are the signals that the bridge passes on to Codex.
var forwarded = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
}

// Signals returns a channel with the signals to pass on. SIGPIPE is caught and dropped: a client
// that closes its end of stdout must not end Codex (measured). It is not ignored, since Codex
// would inherit that.
func Signals() <-chan os.Signal {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	stop := make(chan os.Signal, len(forwarded))
	signal.Notify(stop, forwarded...)
	return stop
}

// isFromTerminal reports whether a terminal sends this signal to all processes in the foreground.
func isFromTerminal(sig os.Signal) bool { return sig == syscall.SIGINT || sig == syscall.SIGQUIT }

// IsTermination reports whether Codex should exit soon after this signal.
func IsTermination(sig os.Signal) bool { return sig != syscall.SIGUSR1 && sig != syscall.SIGUSR2 }

// ExitLike ends this process as Codex ended: with its status or by its signal.
func ExitLike(state *os.ProcessState) {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		os.Exit(state.ExitCode())
	}
	sig := status.Signal()
	disableCoreDump()
	dieBySignal(sig)
	time.Sleep(time.Second) // another thread may get the signal a moment later
	// The signal did not end this process, so use the exit status of a shell.
	os.Exit(128 + int(sig))
}

// disableCoreDump prevents a core dump of the bridge, whose memory is of no use.
func disableCoreDump() { _ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) }
