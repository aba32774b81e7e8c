package guard

import (
	"strings"

	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// agentTools are the tools of Codex that name an agent which is there already.
var agentTools = []string{
	"resume_agent", "send_input", "close_agent", "wait_agent", "send_message", "followup_task", "assign_task", "interrupt_agent",
}

// foreignAgent returns the refusal of a tool call that names a thread of another session; nil: it names
// none.
//
// Measured with Codex 0.169: send_input and resume_agent take the id of any thread, also of one that the
// client has opened itself. The agent works in the sandbox and with the approvals of its own thread, which
// may allow more than those of the caller. A target that is no id is a name, which Codex looks up among the
// agents of the session.
func (g *Guard) foreignAgent(use policy.ToolUse, thread string) *rpc.Error {
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
			// A thread of which nothing is known runs no tools.
			if id := canonicalUUID(text); id != "" && g.Session(id) != session && g.threads.opens(g.Session(id)) {
				return policy.Refused(rpc.CodeRefused, policy.Refusal{
					Method: "hook/preToolUse", Rule: "policy.mode", Field: "tool_input." + key,
					Reason: "the agent " + id + " is not one of this session", Mend: "start an agent of your own",
				})
			}
		}
	}
	return nil
}

func isAgentTool(name string) bool {
	for _, tool := range agentTools {
		if strings.HasSuffix(name, tool) && !strings.HasPrefix(name, "mcp__") {
			return true
		}
	}
	return false
}
