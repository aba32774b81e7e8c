package child

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
)

// streams are the pipes to a child's stdin, stdout and stderr.
type streams struct {
	ours, theirs []*os.File // in that order
}

// open makes the pipes and gives cmd its ends.
func open(cmd *exec.Cmd) (*streams, error) {
	s := &streams{}
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			s.close()
			return nil, err
		}
		s.ours, s.theirs = append(s.ours, r), append(s.theirs, w)
	}
	s.ours[0], s.theirs[0] = s.theirs[0], s.ours[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.theirs[0], s.theirs[1], s.theirs[2]
	return s, nil
}

// carry moves what is read and written, once the child has been started. The channel
// is closed when the child's output has ended, or our ends are closed.
func (s *streams) carry(stdin []byte, stdout, stderr io.Writer) <-chan struct{} {
	for _, f := range s.theirs {
		f.Close()
	}
	var both sync.WaitGroup
	both.Go(func() { drain(stdout, s.ours[1]) })
	both.Go(func() { drain(stderr, s.ours[2]) })
	both.Go(func() {
		_, _ = s.ours[0].Write(stdin) // a child need not read it
		s.ours[0].Close()
	})
	read := make(chan struct{})
	go func() {
		both.Wait()
		close(read)
	}()
	return read
}

// drain reads to the end even when nobody wants more, so that the child is not
// stopped by a full pipe before it is ended.
func drain(w io.Writer, r io.Reader) {
	if _, err := io.Copy(w, r); errors.Is(err, ErrTooLong) {
		_, _ = io.Copy(io.Discard, r)
	}
}

func (s *streams) close() {
	for _, f := range append(s.ours[:len(s.ours):len(s.ours)], s.theirs...) {
		f.Close()
	}
}
