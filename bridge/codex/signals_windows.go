package codex

import (
	"os"
	"os/signal"
)

// Signals is the channel for Run.
func Signals() <-chan os.Signal {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	return stop
}

// EndsIt tells whether codex is to be gone some time after this signal.
func IsTermination(os.Signal) bool { return true }

// Mirror ends this process with codex's status.
func ExitLike(state *os.ProcessState) { os.Exit(state.ExitCode()) }
