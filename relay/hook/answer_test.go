package hook_test

import (
	"encoding/json"
	"testing"

	"codex-bridge.example/relay/hook"
)

func TestEncodeAnswer(t *testing.T) {
	const unsaid = "codex-bridge refused this and gave no reason"
	pre := func(rest string) string {
		return `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":` + rest + "}}\n"
	}
	permission := func(decision string) string {
		return `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":` + decision + "}}\n"
	}
	input := json.RawMessage(`{"command":"a && b <c"}`)
	const fails = "error"
	for _, c := range []struct {
		event  hook.Event
		answer hook.Answer
		want   string
	}{
		{hook.PreToolUse, hook.Answer{}, ""},
		{hook.PreToolUse, hook.Answer{Decision: hook.Deny, Reason: "not <here>"}, pre(`"deny","permissionDecisionReason":"not <here>"`)},
		{hook.PreToolUse, hook.Answer{Decision: hook.Deny, Reason: " \n"}, pre(`"deny","permissionDecisionReason":"` + unsaid + `"`)},
		{hook.PreToolUse, hook.Answer{Decision: hook.Deny, Reason: "a\nb\xff"}, pre(`"deny","permissionDecisionReason":"a\nb` + `\ufffd` + `"`)},
		{hook.PreToolUse, hook.Answer{Decision: hook.Deny, Reason: "no", Input: input}, pre(`"deny","permissionDecisionReason":"no"`)},
		{hook.PreToolUse, hook.Answer{Input: input}, pre(`"allow","updatedInput":{"command":"a && b <c"}`)},
		{hook.PreToolUse, hook.Answer{Input: json.RawMessage(`[1]`)}, fails},
		{hook.PreToolUse, hook.Answer{Input: json.RawMessage(`null`)}, fails},
		{hook.PreToolUse, hook.Answer{Input: json.RawMessage(``)}, fails},
		{hook.PreToolUse, hook.Answer{Input: json.RawMessage(`{"a":1,"a":2}`)}, fails},
		{hook.PreToolUse, hook.Answer{Decision: hook.Allow}, fails},
		{hook.PreToolUse, hook.Answer{Decision: hook.Allow, Input: input}, fails},
		{hook.PreToolUse, hook.Answer{Decision: hook.Block, Reason: "no"}, fails},
		{hook.PreToolUse, hook.Answer{Decision: "ask", Reason: "no"}, fails},
		{hook.PermissionRequest, hook.Answer{}, ""},
		{hook.PermissionRequest, hook.Answer{Decision: hook.Allow, Reason: "yes"}, permission(`{"behavior":"allow"}`)},
		{hook.PermissionRequest, hook.Answer{Decision: hook.Deny, Reason: "no"}, permission(`{"behavior":"deny","message":"no"}`)},
		{hook.PermissionRequest, hook.Answer{Decision: hook.Deny}, permission(`{"behavior":"deny","message":"` + unsaid + `"}`)},
		{hook.PermissionRequest, hook.Answer{Input: input}, fails},
		{hook.PermissionRequest, hook.Answer{Decision: hook.Deny, Input: input}, fails},
		{hook.PermissionRequest, hook.Answer{Decision: hook.Finish}, fails},
		{hook.PostToolUse, hook.Answer{}, ""},
		{hook.PostToolUse, hook.Answer{Decision: hook.Block, Reason: "hidden"}, `{"decision":"block","reason":"hidden"}` + "\n"},
		{hook.PostToolUse, hook.Answer{Decision: hook.Block}, `{"decision":"block","reason":"` + unsaid + `"}` + "\n"},
		{hook.PostToolUse, hook.Answer{Decision: hook.Deny, Reason: "no"}, fails},
		{hook.Stop, hook.Answer{}, ""},
		{hook.Stop, hook.Answer{Decision: hook.Revise, Reason: "test it"}, `{"decision":"block","reason":"test it"}` + "\n"},
		{hook.Stop, hook.Answer{Decision: hook.Revise}, ""},
		{hook.Stop, hook.Answer{Decision: hook.Finish, Reason: "enough"}, `{"continue":false,"stopReason":"enough"}` + "\n"},
		{hook.Stop, hook.Answer{Decision: hook.Finish}, `{"continue":false}` + "\n"},
		{hook.Stop, hook.Answer{Decision: hook.Block, Reason: "no"}, fails},
		{"session_start", hook.Answer{}, fails},
		{"", hook.Answer{Decision: hook.Deny, Reason: "no"}, fails},
	} {
		line, err := c.answer.Encode(c.event)
		if (err != nil) != (c.want == fails) || err == nil && string(line) != c.want {
			t.Errorf("%s, %+v: %q, %v; want %q", c.event, c.answer, line, err, c.want)
		}
	}
}

func TestFailureAnswerDenies(t *testing.T) {
	for _, e := range hook.Events() {
		line, err := hook.FailureAnswer(e, "no bridge").Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		checkDenial(t, e, awaitAnswer{stdout: string(line)})
	}
}
