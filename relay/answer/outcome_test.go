package answer_test

import (
	"encoding/json"
	"testing"

	"codex-bridge.example/relay/answer"
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
