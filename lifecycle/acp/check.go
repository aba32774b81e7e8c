package acp

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
)

const (
	// MaxDepth is the maximum number of bridges with agents above a bridge that spawns.
	MaxDepth = 2
	// defaultSession is the requester of a request without a session key.
	defaultSession = "agent:main:main"
)

// Settings is the configuration of agents.
type Settings struct {
	Enabled bool
	Default string
	Allowed []string            // nil means all
	Agents  map[string][]string // commands, by id
}

// Check returns the child to spawn, or the result that refuses it. The first reason counts, in the
// order of the checks here. hasPlace reports whether the host has a place for a session that stays,
// such as an editor's panel. The Child has no key yet.
func (s Settings) Check(r Request, who Requester, hasPlace bool) (Child, *Result) {
	child := Child{
		Label: r.Label, SpawnedBy: cmp.Or(strings.TrimSpace(who.Session), defaultSession), Cwd: r.Cwd, Resume: r.Resume, Task: r.Task,
		Stream: r.Stream == "parent", Mode: r.mode(),
	}
	switch {
	case !s.Enabled:
		return child, s.forbids("")
	case who.Depth >= MaxDepth:
		return child, no(Forbidden, "an agent of an agent may not start agents: there are %d bridges above this one already", who.Depth)
	case child.Stream && strings.TrimSpace(who.Session) == "":
		return child, no(Failed, `streamTo = "parent" needs a conversation that the work is told to: give sessionKey`)
	case who.Sandboxed:
		return child, no(Forbidden, "agents can't be started from a sandboxed thread: they run outside of the sandbox")
	case who.Unknown:
		return child, no(Forbidden, "agents can't be started from a thread whose sandbox the bridge does not know; it knows threads that were opened through it under a policy")
	case r.Sandbox == "require":
		return child, no(Forbidden, `sandbox = "require" can't be had: agents run outside of every sandbox; leave it out, or say "inherit"`)
	case child.Mode == Session && !r.Thread:
		return child, no(Failed, `mode = "session" needs thread = true: a session that stays needs a place to stay in`)
	}
	if child.Agent = config.AgentID(cmp.Or(strings.TrimSpace(r.Agent), strings.TrimSpace(s.Default))); child.Agent == "" {
		return child, no(Failed, "no agent is named: give agentId, or set acp.default_agent")
	}
	if refused := s.forbids(child.Agent); refused != nil {
		return child, refused
	}
	if _, ok := s.Command(child.Agent); !ok {
		return child, no(Failed, "there is no agent %q; [acp.agents.%s] would be it, and there are: %s", child.Agent, child.Agent,
			strings.Join(slices.Sorted(maps.Keys(s.Agents)), ", "))
	}
	if r.Thread && !hasPlace {
		return child, no(Failed, "thread = true needs a host with a place for the session, and there is none here")
	}
	return child, nil
}

// forbids returns the result that refuses an agent, or nil if it may start.
func (s Settings) forbids(agent string) *Result {
	switch {
	case !s.Enabled:
		return no(Forbidden, "agents are switched off (acp.enabled = false)")
	case s.Allowed != nil && !slices.ContainsFunc(s.Allowed, func(id string) bool { return config.AgentID(id) == agent }):
		return no(Forbidden, "the agent %q is not in acp.allowed", agent)
	}
	return nil
}

// Command returns the command of an agent. ok is false if the agent is not configured.
func (s Settings) Command(agent string) (command []string, ok bool) {
	for id, command := range s.Agents {
		if config.AgentID(id) == agent {
			return command, true
		}
	}
	return nil, false
}

func (r Request) mode() Mode {
	switch {
	case r.Mode == Run || r.Mode == Session:
		return r.Mode
	case r.Thread:
		return Session
	}
	return Run
}

// no returns a Result with an error.
func no(s Status, format string, args ...any) *Result {
	return &Result{Status: s, Error: fmt.Sprintf(format, args...)}
}
