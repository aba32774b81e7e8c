package bridge

import (
	"sync"

	"codex-bridge.example/rpc"
)

// conversation has all state of messages in flight: pending requests, the client's messages
// that wait, and lines to be written. One mutex guards it, so related changes
// become visible together. It is not held during waits, writes and calls of handlers.
type conversation struct {
	mu      sync.Mutex
	changed sync.Cond // broadcast after every change that a goroutine may wait for

	requests       pendingRequests
	serverRequests pendingServerRequests
	schedule       schedule
	toCodex        outgoing
	toClient       outgoing

	asyncRequests taskGroup // ClientMessage.HandleAsync
	fallbacks     taskGroup // replies to server requests that were not answered in time
	delivering    bool      // messages of Codex are being handled or written to the client
	deliveries    uint64    // number of calls of endDelivery
}

const (
	// maxAsyncRequests is the maximum number of requests that features answer by other requests. Their
	// size has the limit of messages that wait.
	maxAsyncRequests = 4096
	// maxReplies is the maximum number of replies that wait for a Codex that does not read. At
	// this number, or at maxToCodex with two or more replies, the bridge stops reading Codex.
	maxReplies = 4096
	maxToCodex = 32 << 20 // bytes
	// maxNotifications and maxNotificationBytes are the maximum for lines that wait for the
	// client. Beyond it notifications of the bridge are dropped, and a warning is logged.
	maxNotifications     = 1024
	maxNotificationBytes = 4 << 20
	// maxToClient is the maximum of bytes that wait for the client. Beyond it the bridge sends no
	// requests of its own, and replaces a long response by an error. Beyond twice that size it
	// stops reading the client.
	maxToClient = 16 << 20
	shortLine   = 4 << 10 // bytes of a response that is never replaced
)

func newConversation(toCodex func([]byte) error, toClient func([]byte) error) *conversation {
	c := new(conversation)
	c.changed.L = &c.mu
	c.requests = newPendingRequests()
	c.serverRequests = newPendingServerRequests()
	c.schedule = newSchedule()
	c.toCodex = outgoing{c: c, write: toCodex}
	c.toClient = outgoing{c: c, write: toClient}
	c.asyncRequests = taskGroup{c: c}
	c.fallbacks = taskGroup{c: c}
	return c
}

// await waits until ready returns true. ready is called with the lock held.
func (c *conversation) await(ready func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !ready() {
		c.changed.Wait()
	}
}

// beginDelivery starts the handling of a message of Codex. It waits while too many replies to
// Codex are queued. endDelivery ends the handling.
func (c *conversation) beginDelivery() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.toCodex.queued > 1 && c.toCodex.bytes >= maxToCodex || c.toCodex.queued >= maxReplies {
		c.changed.Wait()
	}
	c.delivering = true
}

// beginReading is beginDelivery for a message that is only read. It does not wait, since earlier
// messages may not be written yet.
func (c *conversation) beginReading() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delivering = true
}

func (c *conversation) endDelivery() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delivering = false
	c.deliveries++
	c.changed.Broadcast()
}

// awaitDelivery waits until the current messages of Codex, if any, have been handled.
func (c *conversation) awaitDelivery() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for before := c.deliveries; c.delivering && c.deliveries == before; {
		c.changed.Wait()
	}
}

// taskGroup is a WaitGroup that tasks may join while another goroutine waits.
// The conversation's mutex guards it.
type taskGroup struct {
	c     *conversation
	n     int
	bytes int // size of the messages that the tasks keep
}

// start runs f, which keeps a message of size bytes, in a new goroutine. It returns an error
// if maxTasks run, or if the messages of several tasks would have more than maxBytes.
func (g *taskGroup) start(size, maxTasks, maxBytes int, f func()) *rpc.Error {
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	if g.n >= maxTasks {
		return rpc.Errorf(rpc.CodeOverloaded, "%d requests are pending already; wait for their answers, and try again", g.n)
	}
	if g.n > 0 && g.bytes+size > maxBytes {
		return rpc.Errorf(rpc.CodeBusy, "%d requests (%d bytes) are pending already; wait for their answers, and try again", g.n, g.bytes)
	}
	g.startLocked(size, f)
	return nil
}

// startLocked is start without limits and with the conversation's mutex held.
func (g *taskGroup) startLocked(size int, f func()) {
	g.n++
	g.bytes += size
	go func() { // ends after f
		defer g.done(size)
		f()
	}()
}

func (g *taskGroup) done(size int) {
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	g.n--
	g.bytes -= size
	g.c.changed.Broadcast()
}

// wait waits until no task is running.
func (g *taskGroup) wait() { g.c.await(func() bool { return g.n == 0 }) }
