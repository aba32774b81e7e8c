package answer_test

import (
	"encoding/json"
	"testing"

	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/relay/answer"
	"codex-bridge.example/rpc"
)

func TestUnattendedGrantsNothing(t *testing.T) {
	for method, want := range map[string]string{
		"item/commandExecution/requestApproval": `{"decision":"decline"}`,
		"item/permissions/requestApproval":      `{"permissions":{},"scope":"turn"}`,
	} {
		params := value(t, []byte(`{"permissions":{"network":{"enabled":true}},"availableDecisions":["accept","cancel"]}`))
		got, err := answer.Unattended(method, params)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, json.RawMessage(want))
	}
}

// Each request that a person answers has a refusal in Codex's form.
func TestUnattendedAnswersForEachPerson(t *testing.T) {
	for _, method := range methods.ForPerson() {
		result, err := answer.Unattended(method, rpc.Value{})
		if err != nil {
			t.Errorf("%s: %v", method, err)
			continue
		}
		if wrong := methods.CheckResponse(method, value(t, result)); wrong != nil {
			t.Errorf("%s: the answer %s has another form at %s: %s", method, result, wrong.Path, wrong.Found)
		}
	}
}
