// Package exit says how a command ends: exit statuses, the errors of a wrong call, and signals to stop.
package exit

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/cmd/internal/core"
	"codex-bridge.example/cmd/internal/settings"
)

// Exit statuses.
const (
	Failed      = core.ExitFailed
	Config      = core.ExitConfig   // the configuration does not load, or the command line is wrong
	Busy        = 3                 // another process has the session
	Refused     = 4                 // by the policy
	TimedOut    = 124               // as of timeout(1)
	NotFound    = core.ExitNotFound // codex is not installed
	Interrupted = 130               // as of a shell
)

// UsageError prints what is wrong with a call and returns its exit status.
func UsageError(text string) error {
	output.PrintError("codex-bridge: %s", text)
	return Status(Config)
}

// Status is an exit status for an error that was already printed.
type Status int

func (s Status) Error() string { return "" }

// UntilStopped calls f with a context that ends with a signal to stop, so that a command can remove its temporary
// files. The next such signal ends the process. After a signal, an error of f is a *signalError or wraps one:
// whatever failed, failed because of it.
func UntilStopped(f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		select {
		case sig := <-signals:
			cancel(&signalError{sig})
		case <-done:
		}
		signal.Stop(signals)
	}()
	err := f(ctx)
	close(done)
	stopped := (*signalError)(nil)
	if errors.As(context.Cause(ctx), &stopped) && err != nil && !errors.As(err, new(*signalError)) {
		err = stopped
	}
	cancel(nil)
	return err
}

// signalError means that a signal has stopped a command.
type signalError struct{ signal os.Signal }

func (e *signalError) Error() string {
	name, ok := map[os.Signal]string{os.Interrupt: "SIGINT", syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP"}[e.signal]
	if !ok {
		name = e.signal.String()
	}
	return "stopped by " + name
}

// RefuseArgs returns the error of a command line that a command refuses.
func RefuseArgs(problem string) error { return &settings.RefusedArgs{Problem: problem} }
