package child

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
)

// streams are the pipes to a child.
type streams struct {
	parentEnds, childEnds []*os.File // of stdin, stdout and stderr
}

// open creates the pipes and sets cmd's ends.
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

// transfer copies input and output after the child was started. The channel is closed when the
// output has ended or the parent's ends are closed.
func (s *streams) transfer(stdin []byte, stdout, stderr io.Writer) <-chan struct{} {
	for _, f := range s.childEnds {
		f.Close()
	}
	var both sync.WaitGroup
	both.Go(func() { drain(stdout, s.parentEnds[1]) })
	both.Go(func() { drain(stderr, s.parentEnds[2]) })
	both.Go(func() {
		_, _ = s.parentEnds[0].Write(stdin) // the child may not read it
		s.parentEnds[0].Close()
	})
	read := make(chan struct{})
	go func() {
		both.Wait()
		close(read)
	}()
	return read
}

// drain reads to the end even after ErrTooLong, so that a full pipe does not block the child
// before it is killed.
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

// limitedBuffer keeps up to max bytes, and calls onFull at the first write beyond. It does
// not embed a bytes.Buffer, whose ReadFrom has no limit.
type limitedBuffer struct {
	kept   []byte
	max    int
	onFull func()
}

func (h *limitedBuffer) Write(p []byte) (int, error) {
	if len(h.kept)+len(p) > h.max {
		h.onFull()
		return 0, ErrTooLong
	}
	h.kept = append(h.kept, p...)
	return len(p), nil
}

// Tail keeps the last Max bytes written. It must not be used concurrently.
type Tail struct {
	Max  int
	Kept []byte
}

func (t *Tail) Write(p []byte) (int, error) {
	t.Kept = append(t.Kept, p...)
	if over := len(t.Kept) - t.Max; over > 0 {
		t.Kept = append(t.Kept[:0], t.Kept[over:]...)
	}
	return len(p), nil
}
