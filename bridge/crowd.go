package bridge

import "sync"

// crowd counts who is at work. A sync.WaitGroup would not do: somebody may come while
// somebody waits for all to have gone.
type crowd struct {
	most int // 0: any number

	mu   sync.Mutex
	n    int
	gone chan struct{} // closed when all have gone; nil: nobody waits for that
}

// enter has f run in a goroutine of its own; false where most are at work already.
func (c *crowd) enter(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.most > 0 && c.n == c.most {
		return false
	}
	c.n++
	go func() { // ends with f
		defer c.leave()
		f()
	}()
	return true
}

func (c *crowd) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n--
	if c.n == 0 && c.gone != nil {
		close(c.gone)
		c.gone = nil
	}
}

// wait waits until all who are at work have gone.
func (c *crowd) wait() {
	c.mu.Lock()
	if c.n == 0 {
		c.mu.Unlock()
		return
	}
	if c.gone == nil {
		c.gone = make(chan struct{})
	}
	gone := c.gone
	c.mu.Unlock()
	<-gone
}
