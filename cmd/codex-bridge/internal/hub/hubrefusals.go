package hub

import (
	"context"
	"io"
	"sync"
	"time"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/cmd/codex-bridge/internal/assembly"
	"codex-bridge.example/cmd/internal/core"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
)

// refusals sends Codex answers in the place of clients that have gone. Codex takes an answer of any
// connection, also of one without initialize (measured with Codex 0.169).
type refusals struct {
	mu sync.Mutex
	in io.WriteCloser // of a connection; nil: there is none yet
}

// redialAfter is how long after a failure Codex is tried again.
const redialAfter = 100 * time.Millisecond

// send sends a line. It tries again until Codex has it or has exited.
func (r *refusals) send(server *codex.Server, line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		if r.in == nil {
			r.dial(server)
		}
		if r.in != nil {
			if _, err := r.in.Write(append(line, '\n')); err == nil {
				return
			}
			r.in.Close()
			r.in = nil
		}
		select {
		case <-server.Done():
			return
		case <-time.After(redialAfter):
		}
	}
}

// dial opens the connection, which ends with Codex.
func (r *refusals) dial(server *codex.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	conn, err := server.Dial(ctx)
	if err != nil {
		return
	}
	in, out := conn.Streams()
	go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the connection
	r.in = in
}

// decline declines a request of Codex in the place of its clients.
func (g *generation) decline(asked *rpc.Envelope, rule, reason string) {
	g.Log.Warn("a question is declined", "method", asked.Method, "reason", reason)
	if g.Guard.Mode() != config.Off {
		// A refusal applies even if it can't be logged.
		_ = g.Guard.RecordAnswer(context.Background(), asked, policy.Deny, rule, reason, "")
	}
	result := assembly.Declined(asked)
	if result == nil {
		g.refusals.send(g.server, rpc.EncodeError(asked.ID, rpc.Errorf(rpc.CodeRefused, "%s: %s", asked.Method, reason)))
		return
	}
	g.refusals.send(g.server, rpc.EncodeResult(asked.ID, result))
}

// denyWithoutClient denies a tool call while no client is connected.
func (g *generation) denyWithoutClient(ctx context.Context, call *hook.Call) hook.Answer {
	const why = "no client is connected to codex-bridge"
	g.Log.Warn("a tool call is denied", "tool", call.ToolName, "thread", call.Thread(), "reason", why)
	return core.DenyUnasked(ctx, g.Guard, call, why, "")
}
