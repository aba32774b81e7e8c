package bridge

import (
	"sync"
	"testing"
)

// Tasks may start while another goroutine waits for all to end. More than max do not start.
func TestTaskGroup(t *testing.T) {
	c := newConversation(nil, nil)
	g := &c.asyncRequests
	g.max = 2
	g.wait()
	hold := make(chan struct{})
	for n := range 3 {
		if started := g.start(func() { <-hold }); started != (n < 2) {
			t.Errorf("task %d started: %t", n+1, started)
		}
	}
	close(hold)
	g.wait()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1000 {
				g.start(func() {})
				g.wait()
			}
		})
	}
	all.Wait()
	g.wait()
	if g.n != 0 {
		t.Errorf("%d tasks are left", g.n)
	}
}
