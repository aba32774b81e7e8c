package editor

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// stderrDelay is how long, after the server's end, its stderr may stay open in
// the hands of a process that it left behind.
const stderrDelay = 2 * time.Second

// Exit is how the server ended.
type Exit struct {
	Code   int            // -1 when it died of a signal
	Signal syscall.Signal // 0 when it did not
}

func (x Exit) String() string {
	if x.Signal != 0 {
		return fmt.Sprintf("signal %d (%v)", int(x.Signal), x.Signal)
	}
	return fmt.Sprintf("exit %d", x.Code)
}

// wait reaps the server.
func (e *Editor) wait() {
	_ = e.cmd.Wait() // its error says no more than the state
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

// Exit waits until the server has ended.
func (e *Editor) Exit(ctx context.Context) (Exit, error) {
	select {
	case <-e.exited:
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.exit, nil
	case <-ctx.Done():
		return Exit{}, fmt.Errorf("the server, process %d, has not ended: %w", e.Process.Pid, ctx.Err())
	}
}

// CloseInput ends the server's input. It does not wait for the server.
func (e *Editor) CloseInput() error { return e.stdin.Close() }

// CloseOutput closes the editor's end of the server's output, as a client that dies does.
func (e *Editor) CloseOutput() error { return e.stdout.Close() }

// Close ends the server as an editor does that waits for grace: it ends the input, and then kills the
// server. It returns how the server ended, when all goroutines of the editor have ended.
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
	// A process that the server left behind may hold its output open. What was
	// written before is read, then the output is closed.
	_ = e.stdout.SetReadDeadline(time.Now().Add(drain))
	e.owned.Wait()
	_ = e.CloseOutput()
	return exit
}

// drain is how long Close still reads after the server's end.
const drain = 200 * time.Millisecond
