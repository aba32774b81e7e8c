package child

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"
)

// Command is a program that is run once.
type Command struct {
	Args      []string // the program and its arguments
	Dir       string
	Env       []string
	Stdin     []byte
	MaxStdout int // bytes of stdout; a child that writes more is ended
	MaxStderr int // bytes of stderr that are kept, the last ones
	// Grace is for a child that must leave nothing behind: when it has ended, its output
	// is read for that long at most, and what it left running is ended. 0: what it left
	// with its output open is waited for, and nothing else is looked for.
	Grace time.Duration
}

// Result is how a child ended by itself.
type Result struct {
	Stdout []byte
	Stderr []byte
	Code   int    // -1: by a signal
	Status string // such as "exit status 1"
}

// ErrTooLong says that the child wrote more than Command.Max.
var ErrTooLong = errors.New("it wrote more than is read")

// Run runs c to its end, or until ctx is done. The end is that of the child and of
// its output: what it left running with its stdout open is waited for, unless there is
// a Grace. (After a fixed time the rest would be lost on a busy machine, and a denial
// with it: measured with 200 children on two cores and a quarter of a second.)
//
// The error is that it could not be started, that its time was up (ctx's cause), or
// ErrTooLong; how the child ended is no error.
func Run(ctx context.Context, c Command) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := context.Cause(ctx); err != nil {
		return Result{}, err
	}
	stdout := &limitedBuffer{max: c.MaxStdout, onFull: func() { cancel(ErrTooLong) }}
	stderr := &Tail{Max: c.MaxStderr}
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	var g group
	cmd.Env = g.mark(cmd.Environ())
	g.prepareSentry()
	g.prepare(cmd)
	defer g.release()
	cmd.Cancel = func() error { g.kill(cmd); return nil }
	s, err := open(cmd)
	if err != nil {
		return Result{}, err
	}
	defer s.close()

	// Linux sends the death signal when the thread that started the child ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := Start(cmd); err != nil {
		return Result{}, fmt.Errorf("it can't be started: %w", err)
	}
	g.started(cmd)
	g.watch(cmd)
	read := s.transfer(c.Stdin, stdout, stderr)
	if c.Grace > 0 {
		err = g.waitSettleAndKill(cmd, func() { awaitOutput(ctx, read, c.Grace) })
		awaitOutput(context.WithoutCancel(ctx), read, c.Grace) // what was written before the end; nobody is left that could write more
		s.close()
		<-read
	} else {
		err = g.wait(cmd)
		select {
		case <-read:
		case <-ctx.Done():
			g.kill(cmd)
			s.close()
			<-read
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return Result{Stdout: stdout.kept, Stderr: stderr.Kept, Code: -1}, cause
	}
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return Result{}, err
	}
	return Result{Stdout: stdout.kept, Stderr: stderr.Kept, Code: cmd.ProcessState.ExitCode(), Status: cmd.ProcessState.String()}, nil
}

// drained waits for the end of the output of a child that has ended.
func awaitOutput(ctx context.Context, read <-chan struct{}, grace time.Duration) {
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-read:
	case <-ctx.Done():
	case <-late.C:
	}
}
