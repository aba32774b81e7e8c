package editor

import (
	"context"
	"fmt"
	"os"
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
		return Exit{}, fmt.Errorf("the server is still there: %w", ctx.Err())
	}
}

// CloseInput ends the server's input. It waits for nothing.
func (e *Editor) CloseInput() error { return e.stdin.Close() }

// CloseOutput closes our end of the server's output, as a client does that dies
// or does not care.
func (e *Editor) CloseOutput() error { return e.stdout.Close() }

// Signal sends a signal to the server alone, not to its children.
func (e *Editor) Signal(sig os.Signal) error { return e.cmd.Process.Signal(sig) }

// Kill is Signal with SIGKILL.
func (e *Editor) Kill() error { return e.cmd.Process.Kill() }

// Close ends the server as an editor does that is patient for grace: end of
// input, then SIGKILL. It returns how the server ended, when nothing of the
// editor is left.
func (e *Editor) Close(grace time.Duration) Exit {
	e.stop()
	e.stdin.Close()
	select {
	case <-e.exited:
	case <-time.After(grace):
		_ = e.cmd.Process.Kill()
		<-e.exited
	}
	// A process that the server left behind may hold its output open. What was
	// written before is read, then the door is shut.
	_ = e.stdout.SetReadDeadline(time.Now().Add(drain))
	e.owned.Wait()
	e.stdout.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.exit
}

// drain is how long Close still reads after the server's end.
const drain = 200 * time.Millisecond
