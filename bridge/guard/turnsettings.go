package guard

import (
	"maps"
	"sync"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/reported"
	"codex-bridge.example/bridge/rollout"
	"codex-bridge.example/rpc"
)

// turnSettings has the settings with which turns started, by Codex's files. Safe for concurrent use.
type turnSettings struct {
	mu    sync.Mutex
	known map[[2]string]*rpc.Doc // by thread and turn
}

const maxTurnSettings = 256

// find returns the settings of a turn in the thread's file; nil if they are unknown. Each turn is looked up once,
// because later its settings may be too far from the end of the file.
func (s *turnSettings) find(codexHome, path, thread, turn string) *rpc.Doc {
	key := [2]string{thread, turn}
	s.mu.Lock()
	settings := s.known[key]
	s.mu.Unlock()
	if settings != nil || path == "" {
		return settings
	}
	if settings = rollout.TurnSettings(codexHome, path, turn); settings == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= maxTurnSettings {
		s.known = make(map[[2]string]*rpc.Doc) // others are looked up again
	}
	s.known[key] = settings
	return settings
}

// forget forgets the turns of a thread that has ended.
func (s *turnSettings) forget(thread string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.known, func(of [2]string, _ *rpc.Doc) bool { return of[0] == thread })
}

// inTurn returns a thread that a client has opened as its commands run in a turn. It returns nil if the policy does
// not allow that, or if it is not known; turn may be empty.
//
// Measured with Codex 0.169 and 0.171: a turn keeps the sandbox and the approval policy with which it started, also
// after the thread's settings have changed. A program of code mode goes on in later turns, and its commands still name
// and have those of the turn that began it.
func (g *Guard) inTurn(thread *policy.Thread, turn string) *policy.Thread {
	if turn == "" || !thread.SettingsChanged {
		return thread
	}
	settings := g.turnSettings.find(g.world.CodexHome, thread.Rollout, thread.ID, turn)
	if settings == nil {
		if g.runsTurn(thread.ID, turn) {
			return thread
		}
		return nil
	}
	one := *thread
	if one.Update(settings.Root()); policy.SameSettings(&one, thread) {
		return thread
	}
	p, state := g.policy.Load(), g.machine()
	state.Thread = thread
	if p.Mode() == config.Enforce && reported.VerifySettings(p, settings.Root(), state) != nil {
		return nil
	}
	one.RerunsOutside = thread.RerunsOutside || policy.RerunsOutside(one.Approval)
	return &one
}
