// Package leave decides what agents beside the conversation ask leave for: the policy and
// then a person; where neither says yes it is no.
//
// Nothing is remembered here. Whether what an agent asks for would leave its sandbox is not
// told, and what would must not be remembered. A Codex behind a bridge of its own is told
// that a yes is for longer, and that bridge, which knows, remembers it as any other.
//
// A Judge may be used by several goroutines.
package leave

import (
	"context"

	"codex-bridge/bridge/policy"
	"codex-bridge/lifecycle/acp"
)

// Policy is what the policy says, and where it is put on record.
type Policy interface {
	Agent(ctx context.Context, use policy.AgentUse, session string, line []byte) policy.Decision
}

// Person asks somebody; why is what a rule wants them told.
type Person func(ctx context.Context, a acp.Ask, why string) acp.Answer

// Judge decides.
type Judge struct {
	Policy Policy
	Person Person
}

// Decide is the answer to an agent.
func (j Judge) Decide(ctx context.Context, a acp.Ask) acp.Answer {
	d := j.Policy.Agent(ctx, policy.AgentUse{Command: a.Command, Files: a.Files, Tool: a.Kind, Cwd: a.Cwd, Behind: a.Behind}, a.Child, a.Line)
	switch d.Verdict {
	case policy.Deny:
		return acp.Answer{Reason: d.Err.Message}
	case policy.Accept:
		return acp.Answer{Allow: true, Reason: "a rule allows it"}
	}
	answer := j.Person(ctx, a, d.Asked)
	answer.Lasts, answer.Always = answer.Lasts && a.Behind, answer.Always && a.Behind
	return answer
}
