package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

const (
	// drainTimeout is how long output is read after the child has ended: a stray process may
	// hold the pipe open for ever.
	drainTimeout = time.Second
	// killTimeout is how long End waits for a killed child.
	killTimeout = time.Second
)

// Session is a running child: Write writes to its stdin, Read reads its stdout. Read and Write
// may run at the same time, but neither twice. The other methods may be called concurrently.
type Session struct {
	cmd        *exec.Cmd
	group      group
	pipes      *streams
	stderr     io.Writer
	stdinOnce  sync.Once
	stdoutOnce sync.Once
	exited     chan struct{}
}

// Open starts a program. A goroutine copies its stderr to stderr. env is the whole environment.
// The caller must read the session to its end, or call End or Kill. The session's goroutines
// end with the child.
func Open(args []string, dir string, env []string, stderr io.Writer) (*Session, error) {
	if len(args) == 0 {
		return nil, errors.New("it names no program")
	}
	cmd := exec.Command(args[0], args[1:]...)
	s := &Session{cmd: cmd, stderr: stderr, exited: make(chan struct{})}
	cmd.Dir, cmd.Env = dir, s.group.mark(append([]string{}, env...)) // nil would mean the bridge's environment
	s.group.prepare(cmd)
	var err error
	if s.pipes, err = open(cmd); err != nil {
		s.group.release()
		return nil, err
	}
	started := make(chan error)
	go s.run(started)
	if err := <-started; err != nil {
		s.pipes.close()
		s.group.release()
		return nil, fmt.Errorf("it can't be started: %w", startError(err, dir))
	}
	return s, nil
}

// startError returns why a program could not be started in a folder. Linux reports a missing folder as a missing
// program.
func startError(err error, dir string) error {
	if dir == "" {
		return err
	}
	info, wrong := os.Stat(dir)
	switch {
	case wrong != nil:
		return fmt.Errorf("its folder: %w", wrong)
	case !info.IsDir():
		return fmt.Errorf("its folder: %s is a file", dir)
	}
	return err
}

// run starts the child and waits for its end. Linux sends the death signal when the thread that
// started the child ends, so this goroutine keeps the thread.
func (s *Session) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s.group.prepareSentry()
	err := Start(s.cmd)
	if err == nil {
		s.group.started(s.cmd)
		s.group.watch(s.cmd)
		for _, f := range s.pipes.childEnds {
			f.Close()
		}
	}
	started <- err
	if err != nil {
		return
	}
	stderr := s.pipes.parentEnds[2]
	var read sync.WaitGroup
	read.Go(func() { _, _ = io.Copy(s.stderr, stderr) })
	s.group.waitAndKill(s.cmd)
	for _, f := range s.pipes.parentEnds[1:] {
		_ = f.SetReadDeadline(time.Now().Add(drainTimeout)) // fails on Windows, where the job has ended all writers
	}
	read.Wait()
	stderr.Close()
	s.closeStdin()
	close(s.exited)
	s.group.release()
}

// Read reads the child's stdout. It returns io.EOF after the end or a Kill.
func (s *Session) Read(p []byte) (int, error) {
	n, err := s.pipes.parentEnds[1].Read(p)
	if err != nil {
		s.closeStdout()
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) {
			err = io.EOF
		}
	}
	return n, err
}

// Write writes to the child's stdin. It blocks until the child reads or ends.
func (s *Session) Write(p []byte) (int, error) { return s.pipes.parentEnds[0].Write(p) }

func (s *Session) closeStdin()  { s.stdinOnce.Do(func() { s.pipes.parentEnds[0].Close() }) }
func (s *Session) closeStdout() { s.stdoutOnce.Do(func() { s.pipes.parentEnds[1].Close() }) }

// Exited returns a channel that is closed when the child and its group have ended, and all of
// its stderr has been copied.
func (s *Session) Exited() <-chan struct{} { return s.exited }

// Status returns how the child ended, such as "exit status 1". Call it after Exited.
func (s *Session) Status() string {
	if s.cmd.ProcessState == nil { // reaped by another Wait
		return "unknown"
	}
	return s.cmd.ProcessState.String()
}

// ExitCode returns the exit code of the child; -1 if a signal ended it or the code is unknown. Call it after Exited.
func (s *Session) ExitCode() int { return s.cmd.ProcessState.ExitCode() }

// Kill kills the child with its descendants, and does not wait.
func (s *Session) Kill() {
	select {
	case <-s.exited: // the process id may have been reused
	default:
		s.group.kill(s.cmd)
	}
}

// End ends the child with its descendants. It closes stdin, sends a signal to terminate after
// grace, and kills all after another grace. When ctx is done it kills at once. The error says
// that the child can't be killed.
func (s *Session) End(ctx context.Context, grace time.Duration) error {
	defer s.closeStdout()
	strays := s.group.strays(s.cmd, s.exited)
	defer strays.kill()
	s.closeStdin()
	if s.endsWithin(ctx, grace) || s.group.terminate(s.cmd) && s.endsWithin(ctx, grace) {
		return nil
	}
	s.Kill()
	if !s.endsWithin(context.WithoutCancel(ctx), drainTimeout+killTimeout) {
		return fmt.Errorf("process %d can't be ended", s.cmd.Process.Pid)
	}
	return nil
}

func (s *Session) endsWithin(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.exited:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	return false
}
