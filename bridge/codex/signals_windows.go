package codex

import (
	"os"
	"os/signal"
)

// Signals returns a channel with the signals to pass on.
func Signals() <-chan os.Signal {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	return stop
}

// isFromTerminal reports whether a terminal sends this signal to all processes of a console.
func isFromTerminal(os.Signal) bool { return true }

// IsTermination reports whether Codex should exit soon after this signal.
func IsTermination(os.Signal) bool { return true }

// ExitLike ends this process with Codex's status.
func ExitLike(state *os.ProcessState) { os.Exit(state.ExitCode()) }
