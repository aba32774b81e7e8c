package guard

import (
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
)

// Policy returns the active policy.
func (g *Guard) Policy() *policy.Policy { return g.policy.Load() }

// Mode returns the mode of the active policy.
func (g *Guard) Mode() config.Mode { return g.policy.Load().Mode() }

// Enforces reports whether the active policy is enforced.
func (g *Guard) Enforces() bool { return g.Mode() == config.Enforce }

// isActive reports whether a policy decides about messages, at least for the log: the active
// policy, or one that a thread keeps.
func (g *Guard) isActive() bool {
	return g.Policy().Mode() != config.Off || g.threads.hasEnforcedPolicy()
}

// followsTurns reports whether the ends of turns matter.
func (g *Guard) followsTurns() bool { return g.mountPoints != nil || g.isActive() }

// decidesPrograms reports whether each program start of a tool call is decided by Program.
func (g *Guard) decidesPrograms() bool { return g.programStarts != nil && g.programStarts() }

// machine returns what the Guard knows of the machine, with the current files of the configuration.
func (g *Guard) machine() policy.State {
	if current := g.configured.current.Load(); current != nil {
		return *current
	}
	return g.world
}
