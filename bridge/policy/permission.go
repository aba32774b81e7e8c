package policy

import (
	"strings"

	"codex-bridge/rpc"
)

// toolApproval is the request by which Codex asks about an MCP server's tool.
const toolApproval = "mcpServer/elicitation/request"

// DecidePermission checks a hook's consent to a PermissionRequest: Pass where it may stand,
// Deny where Codex has to ask the client as usual.
//
// The payload names neither the call nor whether Codex would run it outside of the sandbox
// (measured), and Codex asks nobody after the consent. So it stands only for tools of MCP
// servers, about which policy.escalation says nothing.
func (p *Policy) DecidePermission(t ToolCall) Decision {
	const method = "hook/permissionRequest"
	refusal := Refusal{Method: method, Rule: ruleEscalation, Hint: "answer the approval that Codex sends to the client instead, or add a rule to policy.rule"}
	switch override := p.overrides[toolApproval]; {
	case !strings.HasPrefix(t.Name, "mcp__"):
		refusal.Reason = "a hook allowed the call, and the bridge can't tell whether it stays inside the sandbox"
	case override == "deny" || override == "ask":
		refusal.Rule, refusal.Reason = ruleMethods, "a hook allowed the call, and the configuration decides who answers "+toolApproval
	default:
		return Decision{Verdict: Pass}
	}
	refusal.Origin = p.place(refusal.Rule)
	return Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeRefused, refusal)}
}
