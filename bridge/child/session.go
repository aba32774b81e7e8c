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
	// settle is how long the output of a child that has ended is read on. What it left
	// running outside of our reach may hold the pipe open for ever.
	drainTimeout = time.Second
	// unkillable is how long a child is waited for that was killed.
	killTimeout = time.Second
)

// Session is a child that is spoken with for as long as it lives: Write writes to
// its stdin, Read reads its stdout. Each may be used by one goroutine at a time, and
// both at once; the other methods by any number.
type Session struct {
	cmd        *exec.Cmd
	group      group
	pipes      *streams
	stderr     io.Writer
	stdinOnce  sync.Once
	stdoutOnce sync.Once
	exited     chan struct{}
}

// Open starts a program. What it writes to stderr goes to stderr, from a goroutine of
// the session. env is the whole environment. A session must be read to its end, or
// ended by End or Kill; its goroutines end with the child.
func Open(args []string, dir string, env []string, stderr io.Writer) (*Session, error) {
	if len(args) == 0 {
		return nil, errors.New("it names no program")
	}
	cmd := exec.Command(args[0], args[1:]...)
	s := &Session{cmd: cmd, stderr: stderr, exited: make(chan struct{})}
	cmd.Dir, cmd.Env = dir, s.group.mark(append([]string{}, env...)) // nil would be the bridge's own
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
		return nil, fmt.Errorf("it can't be started: %w", err)
	}
	return s, nil
}

// run starts the child and sees it to its end. Linux sends the death signal when the
// thread that started the child ends, so it stays with this goroutine.
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
		_ = f.SetReadDeadline(time.Now().Add(drainTimeout)) // Windows has none for pipes, and the job has ended all that could write
	}
	read.Wait()
	stderr.Close()
	s.closeStdin()
	close(s.exited)
	s.group.release()
}

// Read reads what the child writes to its stdout. After an error there is no more.
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

// Write writes to the child's stdin. It blocks while the child reads nothing; the
// child's end ends it.
func (s *Session) Write(p []byte) (int, error) { return s.pipes.parentEnds[0].Write(p) }

func (s *Session) closeStdin()  { s.stdinOnce.Do(func() { s.pipes.parentEnds[0].Close() }) }
func (s *Session) closeStdout() { s.stdoutOnce.Do(func() { s.pipes.parentEnds[1].Close() }) }

// Exited is closed when the child and what it left in its group have ended, and all of
// its stderr has been written.
func (s *Session) Exited() <-chan struct{} { return s.exited }

// How is how the child ended, such as "exit status 1"; call it after Exited.
func (s *Session) Status() string {
	if s.cmd.ProcessState == nil { // somebody else has waited for it
		return "unknown"
	}
	return s.cmd.ProcessState.String()
}

// Kill ends the child and what it has started, and does not wait.
func (s *Session) Kill() {
	select {
	case <-s.exited: // its number may be another's by now
	default:
		s.group.kill(s.cmd)
	}
}

// End ends the child with what it has started, politely first: end of input, grace
// later a signal to terminate, and after as long again the end of all. When ctx is
// done the rest of politeness is left out. The error is that it can't be ended.
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
