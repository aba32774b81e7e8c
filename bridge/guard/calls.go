package guard

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rollout"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// startedCalls has the tool calls that Codex has started, by turn and by the id that the model has
// chosen.
//
// The bridge finds by that id the files of a patch, the person's consent to a call, and what a
// question of Codex is about. Codex accepts an id several times, even for calls that run at the same
// time (measured with Codex 0.169), and nothing that the model can't write shows which of them a
// record is about. So each id can be used once in a turn.
//
// The turn in which no call was started for the longest time is forgotten first. rollout.FindCall
// still finds the other calls of such a turn. Safe for concurrent use.
type startedCalls struct {
	mu    sync.Mutex
	turns map[turnOf]map[string]startedCall
	order []turnOf // the turn of the latest call last
	total int      // ids in all turns
}

type turnOf struct{ thread, turn string }

const (
	maxCallTurns   = 4096
	maxCalls       = 1 << 18 // ids in all turns
	maxCallsOfTurn = 1 << 16 // ids in one turn
)

// start records a call. It returns false if the call may not run.
func (s *startedCalls) start(at turnOf, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.turns[at]
	id = callKey(id)
	if _, repeated := calls[id]; repeated || len(calls) == maxCallsOfTurn {
		return false
	}
	if calls == nil {
		if s.turns == nil {
			s.turns = make(map[turnOf]map[string]startedCall)
		}
		calls = make(map[string]startedCall)
		s.turns[at] = calls
	} else {
		s.order = slices.DeleteFunc(s.order, func(other turnOf) bool { return other == at })
	}
	s.order = append(s.order, at)
	calls[id] = startedCall{}
	s.total++
	for len(s.order) > maxCallTurns || s.total > maxCalls { // more than one turn has maxCalls
		s.total -= len(s.turns[s.order[0]])
		delete(s.turns, s.order[0])
		s.order = s.order[1:]
	}
	return true
}

// forget forgets the calls of a thread that Codex has unloaded.
func (s *startedCalls) forget(thread string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order = slices.DeleteFunc(s.order, func(at turnOf) bool {
		if at.thread != thread {
			return false
		}
		s.total -= len(s.turns[at])
		delete(s.turns, at)
		return true
	})
}

// callKey returns the key of an id. A long id is hashed. No id is equal to a hash: it is valid UTF-8.
func callKey(id string) string {
	const maxLen = 64
	if len(id) <= maxLen {
		return id
	}
	hash := sha256.Sum256([]byte(id))
	return "\xff" + string(hash[:])
}

// set records what Codex's file has of a started call.
func (s *startedCalls) set(at turnOf, id string, call rollout.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if calls := s.turns[at]; calls != nil {
		one := calls[callKey(id)]
		one.call = call
		calls[callKey(id)] = one
	}
}

// change changes the entry of a started call. It does nothing for another call.
func (s *startedCalls) change(at turnOf, id string, to func(*startedCall)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one, started := s.turns[at][callKey(id)]; started {
		to(&one)
		s.turns[at][callKey(id)] = one
	}
}

// ask records the commands of a started call about which a person is asked.
func (s *startedCalls) ask(at turnOf, id string, about []rules.AskedCommand) {
	s.change(at, id, func(one *startedCall) { one.asked = about })
}

// offer records the commands that a person reads in a request of Codex about a started call.
func (s *startedCalls) offer(at turnOf, id, request string, about []rules.AskedCommand) {
	s.change(at, id, func(one *startedCall) { one.offeredBy, one.offered = request, about })
}

// takeOffered records that a person has accepted the request of Codex: they were asked about its commands.
func (s *startedCalls) takeOffered(at turnOf, id, request string) {
	s.change(at, id, func(one *startedCall) {
		if one.offeredBy == request {
			one.asked, one.offered = slices.Concat(one.asked, one.offered), nil
		}
	})
}

// except records the exceptions by which a started call runs. Their use is logged for the call.
func (s *startedCalls) except(at turnOf, id string, used []rules.Exception) {
	s.change(at, id, func(one *startedCall) { one.exceptions = used })
}

// otherExceptions returns the exceptions that are not those of a call.
func (s *startedCalls) otherExceptions(at turnOf, id string, used []rules.Exception) []rules.Exception {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.turns[at][callKey(id)].exceptions
	return slices.DeleteFunc(slices.Clone(used), func(e rules.Exception) bool {
		return slices.ContainsFunc(of, func(one rules.Exception) bool { return one.Rule == e.Rule })
	})
}

// accepted returns the commands of a call that runs about which a person was asked.
func (s *startedCalls) accepted(at turnOf, id string) []rules.AskedCommand {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.turns[at][callKey(id)]
	if !one.isJudged {
		return nil
	}
	return one.asked
}

// get returns a started call; false if no hook has reported it.
func (s *startedCalls) get(at turnOf, id string) (rollout.Call, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, started := s.turns[at][callKey(id)]
	return one.call, started
}

// approve records what the approvers have approved of a started call.
func (s *startedCalls) approve(at turnOf, id string, a policy.Approval) {
	s.change(at, id, func(one *startedCall) { one.approved, one.request = a, "" })
}

// takeApproval returns the approval of a started call. It counts for one request of Codex, which
// several clients may get.
func (s *startedCalls) takeApproval(at turnOf, id, request string) policy.Approval {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, started := s.turns[at][callKey(id)]
	if !started || one.approved == policy.NotApproved || one.request != "" && one.request != request {
		return policy.NotApproved
	}
	one.request = request
	s.turns[at][callKey(id)] = one
	return one.approved
}

// refuse records that a call was refused. It returns false if that is known.
func (s *startedCalls) refuse(at turnOf, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, started := s.turns[at][callKey(id)]
	if !started {
		return true // no hook has reported it
	}
	was := one.refused
	one.refused = true
	s.turns[at][callKey(id)] = one
	return !was
}

// judge records the input with which a started call may run.
func (s *startedCalls) judge(at turnOf, id string, input [sha256.Size]byte) {
	s.change(at, id, func(one *startedCall) { one.isJudged, one.input = true, input })
}

// judged returns the input with which a call may run; false if the call has not been judged.
func (s *startedCalls) judged(at turnOf, id string) (input [sha256.Size]byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.turns[at][callKey(id)]
	return one.input, one.isJudged
}

// startedCall is a call with what Codex's file has of it.
type startedCall struct {
	call     rollout.Call
	approved policy.Approval
	request  string               // rpc.ID.Key of the request that approved counts for; "": none yet
	refused  bool                 // the user has read that it was refused
	asked    []rules.AskedCommand // about which a person is asked before it runs
	// offered are the commands that a person reads in a request of Codex. offeredBy is its rpc.ID.Key.
	offered   []rules.AskedCommand
	offeredBy string
	// exceptions are those by which it runs.
	exceptions []rules.Exception
	isJudged   bool
	input      [sha256.Size]byte // see inputOf; set if isJudged
}

// StartCall must be called once for each tool call that Codex is about to run, before Tool. It
// returns why the call must not run: its turn has had a call with its id. file is the rollout file
// of the thread, as Codex names it in the hook's input; "" if there is none. payload is that input.
func (g *Guard) StartCall(ctx context.Context, thread, turn, id, file string, payload []byte) (refusal string) {
	p := g.policies(thread)[0]
	if p.Mode() == config.Off {
		return ""
	}
	at := turnOf{thread, turn}
	if g.calls.start(at, id) {
		if thread != "" && strings.Contains(filepath.Base(file), thread) {
			g.threads.apply(thread, rolloutMoved{file})
			if call := rollout.FindCall(g.world.CodexHome, file, turn, id); runsCommand(payload, call) {
				g.calls.set(at, id, call)
			}
		}
		return ""
	}
	const method = "hook/preToolUse"
	d := policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
		Method: method, Rule: "policy.mode", Field: "tool_use_id",
		Reason: fmt.Sprintf("this turn has had another call with the id %q, or has too many calls", display.Clip(id)),
		Hint:   "give each call an id of its own; if the model's provider repeats ids, use another provider",
	})}
	g.logDecision(p.Mode(), method, d)
	_ = g.record(ctx, p.Mode(), subject{method: method, thread: thread, turn: turn, line: payload, facts: unknownFacts(id, "the id of the call was not its own")}, d) // the call is denied even if this fails
	if p.Mode() != config.Enforce {
		return ""
	}
	g.notifyListeners(method, Applied{ThreadID: thread, TurnID: turn, ItemID: id}, d)
	return d.Err.Message
}

// runsCommand reports whether a hook's input is about the command of a call, or the call is not known
// to be of a command.
func runsCommand(payload []byte, call rollout.Call) bool {
	if call.Escalation != rules.Sandboxed && !call.Requested {
		return true
	}
	doc, err := rpc.ParseValue(payload)
	return err == nil && doc.Root().Get("tool_input").Get("command").Is(call.Command)
}

// modelCall returns the model's call with an id, as Codex recorded it when the call started. The
// zero Call means that it is unknown. one is the thread, nil if it is not verified.
func (g *Guard) modelCall(thread, turn, id string, one *policy.Thread) rollout.Call {
	if call, started := g.calls.get(turnOf{thread, turn}, id); started {
		return call
	}
	if one == nil {
		return rollout.Call{}
	}
	return rollout.FindCall(g.world.CodexHome, one.Rollout, turn, id)
}
