package policy

import (
	"encoding/json"
	"fmt"

	"codex-bridge/bridge/userrules"
	"codex-bridge/rpc"
)

// ConfineCommand holds a command that may run to the thread's sandbox, where the user's own rules
// for commands let it out: Codex asks nobody then (measured). Rewrite, and Message is the
// input with which it stays; Deny where there is none.
func (p *Policy) ConfineCommand(t ToolCall, st State, own *userrules.Set) Decision {
	if st.unverified() {
		return p.unverifiedCall("hook/preToolUse")
	}
	command, ok := t.Input.Get("command").Text()
	if t.Name != "Bash" || !ok || st.Thread != nil && st.Thread.Sandbox == fullAccess.String() {
		return Decision{Verdict: Pass}
	}
	v := own.Judge(command)
	switch v.Outcome {
	case userrules.Stays:
		return Decision{Verdict: Pass}
	case userrules.Leaves:
		from, to := text(command), text(userrules.Wrap(command))
		return Decision{Verdict: Rewrite, Message: fmt.Appendf(nil, `{"command":%s}`, to), Changes: []Change{{
			Field: "tool_input.command", Rule: ruleSandbox, Reason: v.Reason, Origin: p.origin(ruleSandbox), From: from, To: to,
		}}}
	}
	return Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeRefused, Refusal{
		Method: "hook/preToolUse", Rule: ruleSandbox, Reason: "it may leave the sandbox without a question: " + v.Reason, Origin: p.place(ruleSandbox),
		Hint: "do it by hand, or change that rule of yours for codex",
	})}
}

func text(s string) json.RawMessage {
	raw, _ := json.Marshal(s) // every string has a JSON text
	return raw
}
