package policy_test

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/rpc"
)

// An answer to a question of the bridge has the form and the words of an answer to Codex's own. An answer is
// an error that the policy would replace on its way to Codex, since the schema has no such answer.
func TestCheckAnswer(t *testing.T) {
	const command, patch, form = "item/commandExecution/requestApproval", "item/fileChange/requestApproval", "mcpServer/elicitation/request"
	valid := map[string][]string{
		command: {
			`{"decision":"accept"}`, `{"decision":"acceptForSession"}`, `{"decision":"decline"}`, `{"decision":"cancel"}`, `{"decision":"\u0061ccept"}`, `{"decision":"accept","later":1}`,
			`{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["rm"]}}}`,
			`{"decision":{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"x","action":"deny"}}}}`,
			`{"decision":{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"x","action":"allow"}}}}`,
		},
		patch: {`{"decision":"accept"}`, `{"decision":"acceptForSession"}`, `{"decision":"decline"}`, `{"decision":"cancel"}`, `{"decision":"\u0061ccept"}`, `{"decision":"accept","later":1}`},
		form: {
			`{"action":"accept","content":{},"_meta":{"persist":"always"}}`, `{"action":"decline","content":null,"_meta":null}`, `{"action":"accept","_meta":["always"]}`,
			`{"action":"accept","content":{"mcp_tool_call_approval_call1":"Allow and don't ask me again"}}`, `{"action":"accept","content":"Allow for this session"}`,
		},
	}
	forms := append([]string{
		`{"decision":{"acceptWithExecpolicyAmendment":{}}}`, `{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":"rm"}}}`,
		`{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":[1]}}}`, `{"action":"accepted"}`, `{"action":{"accept":null}}`,
		`{"decision":{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"action":"allow"}}}}`, `{"decision":{"%s":null}}`,
	}, resultForms...)
	for method, want := range valid {
		for _, result := range forms {
			isValid := false
			for _, one := range want {
				isValid = isValid || one == result
			}
			err := serverrequest.CheckAnswer(method, value(t, result))
			if isValid != (err == nil) || err != nil && strings.Contains(err.Error(), "%!") {
				t.Errorf("%s %s: %v", method, result, err)
			}
			if isValid || method == form {
				continue
			}
			asked := serverrequest.Request{Method: method, Params: value(t, `{"itemId":"i"}`)}
			m, err := rpc.ParseMessage([]byte(`{"id":0,"result":` + result + `}`))
			if err != nil {
				t.Fatal(err)
			}
			if d := serverrequest.DecideAnswer(compile(t, contract()), asked, m, state()); d.Verdict != policy.Deny && !strings.Contains(string(d.Message), `"decline"`) {
				t.Errorf("%s %s: Codex gets %s", method, result, d.Message)
			}
		}
	}
}

// A client allows by a plain word. An answer with anything that the bridge does not know is an error.
func TestReadPermissionAnswer(t *testing.T) {
	for result, want := range map[string]serverrequest.PermissionAnswer{
		`{"decision":"allow"}`: {Allow: true},
		`{"decision":"\u0061llow","reason":null,"remember":null}`:   {Allow: true},
		`{"decision":"allow","reason":"fine","remember":"session"}`: {Allow: true, Reason: "fine", Remember: "session"},
		`{"decision":"deny","reason":"no","remember":"always"}`:     {Reason: "no", Remember: "always"},
		`{"reason":"later"}`: {Reason: "later"},
		`{}`:                 {},
	} {
		if got, err := serverrequest.ReadPermissionAnswer([]byte(result)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", result, got, err)
		}
	}
	for _, result := range []string{
		``, `yes`, `null`, `"allow"`, `["allow"]`, `{"decision":["allow"]}`, `{"decision":"allowed"}`, `{"decision":true}`, `{"decision":"allow","decision":"deny"}`,
		`{"decision":"allow","Decision":"deny"}`, `{"decision":"allow","but":"not the last"}`, `{"decision":"allow","remember":"forever"}`, `{"decision":"allow","remember":true}`,
		`{"decision":"allow","reason":["no"]}`, `{"decision":"allow","reason":` + strings.Repeat("[", 90) + strings.Repeat("]", 90) + `}`,
		`{"decision":"allow","x":[` + strings.Repeat("0,", 1<<17) + `0]}`,
	} {
		if got, err := serverrequest.ReadPermissionAnswer([]byte(result)); err == nil || got != (serverrequest.PermissionAnswer{}) {
			t.Errorf("%.100s: %+v, %v", result, got, err)
		}
	}
}
