package bridge

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

func endsCodex(os.Signal) bool { return true }

// Mirror ends this process with codex's status.
func Mirror(state *os.ProcessState) { os.Exit(state.ExitCode()) }
