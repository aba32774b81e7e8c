package guard

import (
	"slices"
	"strings"

	"codex-bridge/bridge/policy"
	"codex-bridge/bridge/setting"
	"codex-bridge/rpc"
)

// agentTools are the tools of Codex that name an agent which is there already.
var agentTools = []string{
	"resume_agent", "send_input", "close_agent", "wait_agent", "send_message", "followup_task", "assign_task", "interrupt_agent",
}

// agentRefusal returns the refusal of a tool call that names a thread of another session, or gives work to
// an agent with a wider sandbox than the calling turn; nil: it does neither.
//
// Measured with Codex 0.169: send_input and resume_agent take the id of any thread, also of one that the
// client has opened itself. The agent works in the sandbox and with the approvals of its own thread, which
// may allow more than those of the caller. A target that is no id is a name, which Codex looks up among the
// agents of the session.
func (g *Guard) agentRefusal(use policy.ToolUse, thread, turn string) *rpc.Error {
	if !isAgentTool(use.Name) {
		return nil
	}
	session := g.Session(thread)
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
			id, reason := canonicalUUID(text), ""
			switch {
			case id == "":
			case g.Session(id) != session && g.threads.opens(g.Session(id)): // one of which nothing is known runs no tools
				reason = "the agent " + id + " is not one of this session"
			case givesTurn(use.Name) && isWider(g.thread(id, ""), g.thread(thread, turn)):
				reason = "the agent " + id + " has a wider sandbox than this turn"
			}
			if reason != "" {
				return policy.Refused(rpc.CodeRefused, policy.Refusal{
					Method: "hook/preToolUse", Rule: "policy.mode", Field: "tool_input." + key, Reason: reason, Mend: "start another agent",
				})
			}
		}
	}
	return nil
}

// isWider reports whether a thread has a wider sandbox than another one. The sandbox of an agent is that of
// the turn that started it, whatever becomes of its parent's.
func isWider(one, other *policy.Thread) bool {
	rank := func(t *policy.Thread) int { return slices.Index(setting.Sandboxes[:], t.Sandbox) }
	return one != nil && other != nil && rank(one) > rank(other)
}

func isAgentTool(name string) bool {
	for _, tool := range agentTools {
		if strings.HasSuffix(name, tool) && !strings.HasPrefix(name, "mcp__") {
			return true
		}
	}
	return false
}
