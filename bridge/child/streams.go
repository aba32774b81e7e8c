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
	parentEnds, childEnds []*os.File // in that order
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
		s.parentEnds, s.childEnds = append(s.parentEnds, r), append(s.childEnds, w)
	}
	s.parentEnds[0], s.childEnds[0] = s.childEnds[0], s.parentEnds[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.childEnds[0], s.childEnds[1], s.childEnds[2]
	return s, nil
}

// carry moves what is read and written, once the child has been started. The channel
// is closed when the child's output has ended, or our ends are closed.
func (s *streams) transfer(stdin []byte, stdout, stderr io.Writer) <-chan struct{} {
	for _, f := range s.childEnds {
		f.Close()
	}
	var both sync.WaitGroup
	both.Go(func() { drain(stdout, s.parentEnds[1]) })
	both.Go(func() { drain(stderr, s.parentEnds[2]) })
	both.Go(func() {
		_, _ = s.parentEnds[0].Write(stdin) // a child need not read it
		s.parentEnds[0].Close()
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
	for _, f := range append(s.parentEnds[:len(s.parentEnds):len(s.parentEnds)], s.childEnds...) {
		f.Close()
	}
}
