package guard

import (
	"context"
	"fmt"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

const (
	// interruptEvery is the time between two looks for running turns. A turn may begin a moment after the
	// change of the policy: of an earlier request, or of a queue.
	interruptEvery = 250 * time.Millisecond
	// quietRounds is how many looks must find no turn to interrupt, and maxInterruptRounds bounds all.
	quietRounds        = 4
	maxInterruptRounds = 100
	// interruptTimeout is how long Codex may take for one request.
	interruptTimeout = 10 * time.Second
)

// InterruptTurns interrupts the running turns of threads that the policy has not verified, and whose tool
// calls the bridge can't deny. Call it after SetPolicy has returned true, for a client that has sent
// initialize. isHooked reports whether Codex runs the bridge's hook before each tool call of a thread. All
// clients get a warning. It returns an error if turns may still run.
func (g *Guard) InterruptTurns(ctx context.Context, isHooked func(thread string) bool, clients ...*Guard) error {
	told := make(map[string]bool)
	quiet := 0
	for range maxInterruptRounds {
		running, err := g.interruptRunning(ctx, isHooked, func(id string) {
			if !told[id] {
				told[id] = true
				g.reportInterrupted(ctx, id, clients)
			}
		})
		if err != nil {
			return err
		}
		if quiet++; running {
			quiet = 0
		}
		if quiet == quietRounds || g.Mode() != config.Enforce {
			return nil
		}
		select {
		case <-time.After(interruptEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fmt.Errorf("turns go on after %d interruptions", maxInterruptRounds)
}

// interruptRunning looks once for turns to interrupt, and reports whether there were any. interrupted is
// called with the thread of each.
func (g *Guard) interruptRunning(ctx context.Context, isHooked func(thread string) bool, interrupted func(id string)) (running bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, interruptTimeout)
	defer cancel()
	loaded, err := g.readLoaded(ctx)
	if err != nil {
		return false, err
	}
	for _, id := range loaded {
		if g.threadFor(id, "") != nil || isHooked(g.Session(id)) {
			continue
		}
		read, err := g.peer.Call(ctx, "thread/read", map[string]any{"threadId": id, "includeTurns": false})
		if err != nil && ctx.Err() != nil {
			return running, fmt.Errorf("the thread %s can't be read: %w", id, err)
		}
		if err != nil || !read.Get("thread").Get("status").Get("type").Is("active") {
			continue // also a thread that Codex has unloaded meanwhile
		}
		if g.awaitOpening(ctx, id); g.threadFor(id, "") != nil {
			continue // a client has opened it again
		}
		running = true
		// Measured with Codex 0.169 and 0.171: without the turn's id it interrupts the one that runs.
		if _, err := g.peer.Call(ctx, "turn/interrupt", map[string]any{"threadId": id, "turnId": ""}); err != nil {
			g.log.Warn("a turn could not be interrupted", "thread", id, "error", err)
			continue
		}
		interrupted(id)
	}
	return running, nil
}

// reportInterrupted logs that a thread's turn was interrupted, and tells the users of the clients.
func (g *Guard) reportInterrupted(ctx context.Context, id string, clients []*Guard) {
	const (
		method = "turn/interrupt"
		reason = "the turn began before the policy was enforced, and the bridge can't deny its tool calls"
		hint   = "open the thread again; if that is refused, restart Codex"
	)
	d := policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeNotVerified, policy.Refusal{Method: method, Rule: "policy.mode", Reason: reason, Hint: hint})}
	g.logDecision(config.Enforce, method, d)
	_ = g.record(ctx, config.Enforce, subject{method: method, thread: id, canWait: true}, d) // the turn is interrupted even if this fails
	for _, client := range clients {
		client.notifyListeners(method, Applied{ThreadID: id}, d)
		if (client.knowsBridge == nil || !client.knowsBridge()) && !client.peer.OptedOut(configWarning) {
			client.peer.Notify(configWarning, map[string]any{"summary": "codex-bridge has interrupted a turn: " + reason + "; " + hint + ".", "details": "thread " + id})
		}
	}
}
