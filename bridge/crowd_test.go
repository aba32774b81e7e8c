package bridge

import (
	"sync"
	"testing"
)

// Who comes while somebody waits is no fault, and more than most do not come in.
func TestCrowd(t *testing.T) {
	c := crowd{most: 2}
	c.wait()
	hold := make(chan struct{})
	for n := range 3 {
		if in := c.enter(func() { <-hold }); in != (n < 2) {
			t.Errorf("the %d. came in: %t", n+1, in)
		}
	}
	close(hold)
	c.wait()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1000 {
				c.enter(func() {})
				c.wait()
			}
		})
	}
	all.Wait()
	c.wait()
	if c.n != 0 {
		t.Errorf("%d are left", c.n)
	}
}
