package guard

import (
	"slices"
	"strings"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rollout"
	"codex-bridge.example/rpc"
)

// agentTools are the tools of Codex that name an existing agent.
var agentTools = []string{
	"resume_agent", "send_input", "close_agent", "wait_agent", "send_message", "followup_task", "assign_task", "interrupt_agent",
}

// agentRefusal refuses a tool call that names a thread of another session, or that gives work to an
// agent that may do more than the calling turn. It returns nil for other calls.
//
// Measured with Codex 0.169: send_input and resume_agent accept the id of any thread, also of one
// that the client has opened. The agent works with the sandbox and approvals of its own thread,
// which may allow more than those of the caller. A target that is not an id is a name, which Codex
// looks up among the agents of the session.
func (g *Guard) agentRefusal(use toolcall.Call, thread, turn string) *rpc.Error {
	if !isAgentTool(use.Name) {
		return nil
	}
	for key, v := range use.Input.Members() {
		if key == "message" || key == "items" {
			continue
		}
		targets := []rpc.Value{v}
		for one := range v.Elements() {
			targets = append(targets, one)
		}
		for _, v := range targets {
			text, _ := v.Text()
			reason := ""
			if id := canonicalUUID(text); id != "" {
				reason = g.agentIDRefusal(use.Name, id, thread, turn)
			} else if text != "" && (key == "target" || key == "id") {
				reason = g.agentNameRefusal(use.Name, text, thread, turn)
			}
			if reason != "" {
				return policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
					Method: "hook/preToolUse", Rule: "policy.mode", Field: "tool_input." + key, Reason: reason, Hint: "start another agent",
				})
			}
		}
	}
	return nil
}

// agentIDRefusal returns why a call may not name an agent by its id; "" if it may.
func (g *Guard) agentIDRefusal(tool, id, thread, turn string) string {
	switch origin := g.originOf(id); {
	case origin != g.originOf(thread) && (origin != id || g.threads.isOpenedByClient(origin)):
		return "the agent " + id + " is not one of this session"
	case givesAgentWork(tool) && g.isLooser(id, thread, turn):
		return "the agent " + id + " works with other settings than this turn (sandbox, cwd, approvals, reviewer), or its settings are not known"
	}
	return ""
}

// agentNameRefusal returns why a call may not give work to an agent by its name; "" if it may.
func (g *Guard) agentNameRefusal(tool, name, thread, turn string) string {
	if caller := g.threadFor(thread, turn); givesAgentWork(tool) && caller != nil && caller.SettingsChanged {
		return "the agent " + name + " can't be identified, and earlier turns had another sandbox, cwd, approvals or reviewer"
	}
	return ""
}

// originOf returns the thread at the root of a subagent's parents, even if the client has opened
// one of them. It returns id if the thread has no parent.
func (g *Guard) originOf(id string) string {
	for range maxParents {
		one := g.child(id)
		if one == nil {
			return id
		}
		id = one.Parent
	}
	return id
}

// isLooser reports whether an agent may do more than the calling turn, or if this is not known.
//
// Measured with Codex 0.169: an agent keeps the settings of the turn that started it, and Codex
// writes them to the agent's file for each of its turns. But a client can open the agent's thread
// and change its settings without a turn. So isLooser also compares the effective settings, and
// those that Codex wrote last, perhaps before the bridge was started.
func (g *Guard) isLooser(agent, thread, turn string) bool {
	one, caller := g.threadFor(agent, ""), g.threadFor(thread, turn)
	if caller == nil || agent == caller.ID {
		return false // an unknown caller runs no tools
	}
	if one == nil {
		return true
	}
	if g.threads.isOpenedByClient(agent) && policy.IsLooser(caller, one) {
		return true
	}
	looser := func(than, settings *rpc.Doc) bool {
		return policy.IsLooser(policy.ParseThreadSettings(than.Root()), policy.ParseThreadSettings(settings.Root()))
	}
	home := g.world.CodexHome
	its, own := rollout.TurnSettings(home, one.Rollout, ""), rollout.TurnSettings(home, caller.Rollout, turn)
	if its == nil || own == nil || looser(own, its) {
		return true
	}
	its, own = rollout.AppliedSettings(home, one.Rollout), rollout.AppliedSettings(home, caller.Rollout)
	return its != nil && own != nil && looser(own, its)
}

// isAgentTool reports whether a tool, with or without a namespace, is one of agentTools.
func isAgentTool(name string) bool {
	return !strings.HasPrefix(name, "mcp__") && slices.ContainsFunc(agentTools, func(tool string) bool { return strings.HasSuffix(name, tool) })
}

// givesAgentWork reports whether an agent may work because of a call of this tool: the call starts
// a turn, or an agent with a running turn reads its message.
func givesAgentWork(tool string) bool {
	return startsAgentTurn(tool) || isAgentTool(tool) && (strings.HasSuffix(tool, "send_message") || strings.HasSuffix(tool, "assign_task"))
}
