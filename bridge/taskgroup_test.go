package bridge

import (
	"slices"
	"sync"
	"testing"

	"codex-bridge.example/rpc"
)

// Tasks may start while another goroutine waits for all to end. Too many tasks, or too large ones,
// do not start. One task may have any size.
func TestTaskGroup(t *testing.T) {
	c := newConversation(nil, nil)
	g := &c.asyncRequests
	g.wait()
	hold := make(chan struct{})
	start := func(size int) rpc.Code {
		if err := g.start(size, 3, 10, func() { <-hold }); err != nil {
			return err.Code
		}
		return 0
	}
	var got []rpc.Code
	for _, size := range []int{8, 3, 1, 1, 0} {
		got = append(got, start(size))
	}
	if want := []rpc.Code{0, rpc.CodeBusy, 0, 0, rpc.CodeOverloaded}; !slices.Equal(got, want) {
		t.Errorf("start returned %v, want %v", got, want)
	}
	close(hold)
	g.wait()
	if code := start(11); code != 0 {
		t.Errorf("a single task returned %d", code)
	}
	g.wait()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1000 {
				_ = g.start(1, 4, 4, func() {})
				g.wait()
			}
		})
	}
	all.Wait()
	g.wait()
	if g.n != 0 || g.bytes != 0 {
		t.Errorf("%d tasks with %d bytes are left", g.n, g.bytes)
	}
}
