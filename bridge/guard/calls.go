package guard

import (
	"context"
	"fmt"
	"sync"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/bridge/rollout"
	"codex-bridge/rpc"
)

// startedCalls counts the tool calls that Codex has started, by turn and by the id that the
// model has chosen.
//
// The bridge finds by that id the files of a patch, the person's consent to a call, and what a
// question of Codex is about. Codex accepts the same id several times, even for calls that run
// at the same time (measured with Codex 0.169). So a call may not have the id of another one
// that has not ended.
type startedCalls struct {
	mu    sync.Mutex
	turns map[turnOf]map[string]int
	order []turnOf // the oldest first
}

type turnOf struct{ thread, turn string }

const (
	maxCountedTurns = 256   // the oldest turn is forgotten; its calls have ended
	maxCountedCalls = 65536 // ids in one turn
	maxCallID       = 1024  // bytes
)

// start counts a call, and returns false if it may not run. ended returns how many calls with
// the id have ended in the turn; start calls it only if there was an earlier call.
func (s *startedCalls) start(at turnOf, id string, ended func() int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.turns[at]
	if calls == nil {
		if s.turns == nil {
			s.turns = make(map[turnOf]map[string]int)
		}
		if len(s.order) == maxCountedTurns {
			delete(s.turns, s.order[0])
			s.order = s.order[1:]
		}
		calls = make(map[string]int)
		s.turns[at], s.order = calls, append(s.order, at)
	}
	earlier := calls[id]
	if len(id) > maxCallID || earlier == 0 && len(calls) == maxCountedCalls || earlier > 0 && ended() < earlier {
		return false
	}
	calls[id]++
	return true
}

// StartCall must be called once for each tool call that Codex is about to run, before Tool. It
// returns why the call must not run: another call with its id has not ended. Otherwise it
// drops the paths of an earlier patch with the id. payload is the hook's input.
func (g *Guard) StartCall(ctx context.Context, thread, turn, id string, payload []byte) (refusal string) {
	p := g.policies(thread)[0]
	if p.Mode() == config.Off {
		return ""
	}
	started := g.calls.start(turnOf{thread, turn}, id, func() int {
		one := g.threadFor(thread, turn)
		if one == nil {
			return 0
		}
		return rollout.Outputs(g.world.CodexHome, one.Rollout, turn, id)
	})
	if started {
		g.patches.forget(patch{thread, id})
		return ""
	}
	const method = "hook/preToolUse"
	d := policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
		Method: method, Rule: "policy.mode", Field: "tool_use_id",
		Reason: fmt.Sprintf("the id %q of this call is that of another call in this turn that has not ended, or is too long", clip(id)),
		Hint:   "make one call at a time, or give each call an id of its own",
	})}
	g.logDecision(p.Mode(), method, d)
	_ = g.record(ctx, p.Mode(), subject{method: method, thread: thread, turn: turn, line: payload}, d) // the call is denied even if this fails
	if p.Mode() != config.Enforce {
		return ""
	}
	g.notifyApplied(method, rpc.ID{}, rpc.Value{}, d)
	return d.Err.Message
}
