package guard

import (
	"slices"
	"strings"

	"codex-bridge/bridge/policy"
	"codex-bridge/bridge/rollout"
	"codex-bridge/rpc"
)

// agentTools are the tools of Codex that name an agent which is there already.
var agentTools = []string{
	"resume_agent", "send_input", "close_agent", "wait_agent", "send_message", "followup_task", "assign_task", "interrupt_agent",
}

// agentRefusal returns the refusal of a tool call that names a thread of another session, or gives work to
// an agent that may do more than the calling turn; nil: it does neither.
//
// Measured with Codex 0.169: send_input and resume_agent take the id of any thread, also of one that the
// client has opened itself. The agent works in the sandbox and with the approvals of its own thread, which
// may allow more than those of the caller. A target that is no id is a name, which Codex looks up among the
// agents of the session.
func (g *Guard) agentRefusal(use policy.ToolCall, thread, turn string) *rpc.Error {
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
				reason = g.agentBarred(use.Name, id, thread, turn)
			} else if text != "" && (key == "target" || key == "id") {
				reason = g.nameBarred(use.Name, text, thread, turn)
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

// agentBarred returns why a call may not name an agent by its id; "" if it may.
func (g *Guard) agentBarred(tool, id, thread, turn string) string {
	switch origin := g.origin(id); {
	case origin != g.origin(thread) && g.threads.opens(origin):
		return "the agent " + id + " is not one of this session"
	case givesWork(tool) && g.isLooser(id, thread, turn):
		return "the agent " + id + " works with other settings than this turn (sandbox, cwd, approvals, reviewer), or they can't be found out"
	}
	return ""
}

// nameBarred returns why a call may not give work to an agent by its name; "" if it may.
func (g *Guard) nameBarred(tool, name, thread, turn string) string {
	if caller := g.thread(thread, turn); givesWork(tool) && caller != nil && caller.SettingsChanged {
		return "which agent " + name + " is can't be told, and earlier turns had another sandbox, cwd, approvals or reviewer"
	}
	return ""
}

// origin returns the thread at the root of a subagent's parents, also where the client has opened one of them
// itself; the thread itself if it is no subagent's.
func (g *Guard) origin(id string) string {
	for range deepest {
		one := g.children.find(g.world.CodexHome, id)
		if one == nil {
			return id
		}
		id = one.Parent
	}
	return id
}

// isLooser reports whether an agent may do more than the calling turn, or what it may do is not known.
//
// Measured with Codex 0.169: an agent keeps the settings of the turn that started it, and Codex writes them down for
// each turn of the agent. But a client can open the agent's thread and change its settings without a turn. So what
// is in force for such an agent is compared, too, and what Codex wrote down last, perhaps before the bridge was
// started.
func (g *Guard) isLooser(agent, thread, turn string) bool {
	one, caller := g.thread(agent, ""), g.thread(thread, turn)
	if caller == nil || agent == caller.ID {
		return false // a caller that is not known runs no tools
	}
	if one == nil {
		return true
	}
	if g.threads.opens(agent) && policy.IsLooser(caller, one) {
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

func isAgentTool(name string) bool {
	return !strings.HasPrefix(name, "mcp__") && slices.ContainsFunc(agentTools, func(tool string) bool { return strings.HasSuffix(name, tool) })
}

// givesWork reports whether an agent may work for a call of this tool: the call begins a turn, or an agent that
// has a turn reads its message.
func givesWork(tool string) bool {
	return givesTurn(tool) || isAgentTool(tool) && (strings.HasSuffix(tool, "send_message") || strings.HasSuffix(tool, "assign_task"))
}
