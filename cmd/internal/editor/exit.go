package editor

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// stderrDelay is the time that stderr may stay open in a process that the server left running.
const stderrDelay = 2 * time.Second

// Exit is the exit status of the server.
type Exit struct {
	Code   int            // -1 after a signal
	Signal syscall.Signal // 0 without a signal
}

func (x Exit) String() string {
	if x.Signal != 0 {
		return fmt.Sprintf("signal %d (%v)", int(x.Signal), x.Signal)
	}
	return fmt.Sprintf("exit %d", x.Code)
}

// wait waits for the server's exit.
func (e *Editor) wait() {
	_ = e.cmd.Wait() // the error has no more than the state
	var exit Exit
	if state := e.cmd.ProcessState; state != nil {
		exit.Code = state.ExitCode()
		if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			exit.Signal = status.Signal()
		}
	}
	e.mu.Lock()
	e.exit = exit
	e.mu.Unlock()
	close(e.exited)
}

// Exit waits until the server has exited.
func (e *Editor) Exit(ctx context.Context) (Exit, error) {
	select {
	case <-e.exited:
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.exit, nil
	case <-ctx.Done():
		return Exit{}, fmt.Errorf("the server, process %d, is still running: %w", e.Process.Pid, ctx.Err())
	}
}

// CloseInput ends the server's input. It does not wait for the server.
func (e *Editor) CloseInput() error { return e.stdin.Close() }

// CloseOutput closes the editor's end of the server's output, like a client that crashes.
func (e *Editor) CloseOutput() error { return e.stdout.Close() }

// Close ends the input, waits for grace, and then kills the server. It returns the exit status when
// all goroutines of the editor have ended.
func (e *Editor) Close(grace time.Duration) Exit {
	e.stop()
	_ = e.CloseInput()
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	exit, err := e.Exit(ctx)
	if err != nil {
		_ = e.Process.Kill()
		exit, _ = e.Exit(context.Background())
	}
	// A process that the server left running may hold its output open. Read the existing output,
	// then close it.
	_ = e.stdout.SetReadDeadline(time.Now().Add(drain))
	e.goroutines.Wait()
	_ = e.CloseOutput()
	return exit
}

// drain is the time that Close reads after the server's exit.
const drain = 200 * time.Millisecond
