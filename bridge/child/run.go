package child

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"
)

// Command is a program for Run.
type Command struct {
	Args      []string // the program and its arguments
	Dir       string
	Env       []string
	Stdin     []byte
	MaxStdout int // bytes of stdout; the child is killed if it writes more
	MaxStderr int // bytes of stderr to keep, from its end
	// Grace, if not 0, bounds how long output is read after the child has ended. Then its
	// descendants are killed. If it is 0, Run waits for descendants that hold the output open,
	// and kills none.
	Grace time.Duration
}

// Result describes the end of a child that has ended by itself.
type Result struct {
	Stdout []byte
	Stderr []byte
	Code   int    // -1: ended by a signal
	Status string // such as "exit status 1"
}

// ErrTooLong means that the child wrote more than Command.MaxStdout.
var ErrTooLong = errors.New("its output is too long")

// Run runs c until it has ended or ctx is done. Unless there is a Grace, it also waits for
// descendants that hold stdout open. (A fixed time would lose the rest on a busy machine, and a
// denial in it: measured with 200 children on two cores and a quarter of a second.)
//
// The error says that c can't be started, is ctx's cause, or ErrTooLong. A failure of the child
// itself is not an error.
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
		return Result{}, fmt.Errorf("it can't be started: %w", startError(err, c.Dir))
	}
	g.started(cmd)
	g.watch(cmd)
	read := s.transfer(c.Stdin, stdout, stderr)
	if c.Grace > 0 {
		err = g.waitSettleAndKill(cmd, func() { awaitOutput(ctx, read, c.Grace) })
		awaitOutput(context.WithoutCancel(ctx), read, c.Grace) // output in the pipe; all writers are dead
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

// awaitOutput waits up to grace for the end of an ended child's output.
func awaitOutput(ctx context.Context, read <-chan struct{}, grace time.Duration) {
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-read:
	case <-ctx.Done():
	case <-late.C:
	}
}
