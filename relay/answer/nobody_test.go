package answer_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"codex-bridge/bridge/bridgetest/vectors"

	"codex-bridge/relay/answer"
	"codex-bridge/rpc"
)

func TestNobodyVectors(t *testing.T) {
	var v struct {
		Cases []struct {
			Kind, Method string
			Written      []struct{ Result json.RawMessage }
		}
	}
	vectors.Read(t, "client.json", &v)
	seen := 0
	for _, c := range v.Cases {
		if c.Kind != "server request without handler" {
			continue // about the client's own requests, and its start
		}
		seen++
		t.Run(c.Method, func(t *testing.T) {
			got, err := answer.Nobody(c.Method, rpc.Value{})
			want := c.Written[0].Result
			switch {
			case c.Method == "applyPatchApproval": // DEVIATIONS.md
				if err != nil || !legacyFits(got) || strings.Contains(string(got), "approved") {
					t.Errorf("the answer is %s, %v", got, err)
				}
			case string(want) == "{}": // DEVIATIONS.md
				var e *rpc.Error
				if got != nil || !errors.As(err, &e) || e.Code != -32601 {
					t.Errorf("the answer is %s, %v; want an error", got, err)
				}
			case err != nil:
				t.Error(err)
			case c.Method == "item/tool/call":
				if ok, is := value(t, got).Get("success").Bool(); ok || !is || !strings.Contains(string(got), `"inputText"`) {
					t.Errorf("the answer is %s", got)
				}
			default:
				same(t, got, want)
			}
		})
	}
	if seen == 0 {
		t.Fatal("no cases")
	}
}

func TestNobodyGrantsNothing(t *testing.T) {
	for method, want := range map[string]string{
		"item/commandExecution/requestApproval": `{"decision":"decline"}`,
		"item/permissions/requestApproval":      `{"permissions":{},"scope":"turn"}`,
	} {
		params := value(t, []byte(`{"permissions":{"network":{"enabled":true}},"availableDecisions":["accept","decline"]}`))
		got, err := answer.Nobody(method, params)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, json.RawMessage(want))
	}
}
