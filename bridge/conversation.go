package bridge

import "sync"

// conversation is the in-flight state of one conversation: the requests that wait for
// an answer, the client's messages that wait for their turn, and the lines that wait to
// be written. One mutex guards all of it, so that what belongs together becomes visible
// together. No function holds the mutex while it waits, writes or calls a handler.
type conversation struct {
	mu      sync.Mutex
	changed sync.Cond // broadcast when something ends that a goroutine may wait for

	requests       pendingRequests
	serverRequests pendingServerRequests
	schedule       schedule
	toCodex        outgoing
	toClient       outgoing

	asyncRequests taskGroup // requests that features answer by way of others
	fallbacks     taskGroup // answers to questions that nobody has answered in time
	delivering    bool      // a message of Codex is with its routes, or on its way to the client
	deliveries    uint64    // how many of them are through
}

const (
	maxAsyncRequests = 4096 // requests of the client that are answered by way of others
	// maxReplies bounds the answers of the bridge that wait for a Codex that does not read. At
	// this bound, or at maxToCodex where there are two or more, Codex is not heard until it
	// reads.
	maxReplies = 4096
	maxToCodex = 32 << 20 // bytes
	// maxTold and maxToldBytes bound what waits for a client that does not read, for the
	// bridge's notifications: more of them are dropped, which is logged.
	maxNotifications     = 1024
	maxNotificationBytes = 4 << 20
	// maxToClient bounds in bytes what waits for a client that does not read. Beyond it the
	// bridge asks the client nothing, and a long answer of the bridge's own becomes an
	// error. At twice that size the client is not heard until it reads.
	maxToClient = 16 << 20
	shortLine   = 4 << 10 // bytes of an answer that is never replaced
)

func newConversation(toCodex func([]byte) error, toClient func([]byte) error) *conversation {
	c := new(conversation)
	c.changed.L = &c.mu
	c.requests = newPendingRequests()
	c.serverRequests = newPendingServerRequests()
	c.schedule = newSchedule()
	c.toCodex = outgoing{c: c, write: toCodex}
	c.toClient = outgoing{c: c, write: toClient}
	c.asyncRequests = taskGroup{c: c, max: maxAsyncRequests}
	c.fallbacks = taskGroup{c: c}
	return c
}

// await waits until ready, which is called with the lock held.
func (c *conversation) await(ready func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !ready() {
		c.changed.Wait()
	}
}

// take and taken enclose the handling of a message of Codex.
func (c *conversation) beginDelivery() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.toCodex.queued > 1 && c.toCodex.bytes >= maxToCodex || c.toCodex.queued >= maxReplies {
		c.changed.Wait()
	}
	c.delivering = true
}

func (c *conversation) endDelivery() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delivering = false
	c.deliveries++
	c.changed.Broadcast()
}

// afterTaking waits until the message of Codex that is with its routes is through.
func (c *conversation) awaitDelivery() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for before := c.deliveries; c.delivering && c.deliveries == before; {
		c.changed.Wait()
	}
}

// taskGroup is a bounded WaitGroup that tasks may join while another goroutine waits.
// The conversation's mutex guards it.
type taskGroup struct {
	c   *conversation
	max int // 0: no bound
	n   int
}

// start runs f in a goroutine of its own; false where max run already.
func (g *taskGroup) start(f func()) bool {
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	return g.startLocked(f)
}

func (g *taskGroup) startLocked(f func()) bool {
	if g.max > 0 && g.n >= g.max {
		return false
	}
	g.n++
	go func() { // ends with f
		defer g.done()
		f()
	}()
	return true
}

func (g *taskGroup) done() {
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	g.n--
	g.c.changed.Broadcast()
}

// wait waits until no task runs.
func (g *taskGroup) wait() { g.c.await(func() bool { return g.n == 0 }) }
