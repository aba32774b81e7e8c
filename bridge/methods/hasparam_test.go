package methods_test

import (
	"encoding/json"
	"testing"

	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/rpc"
)

// HasParam knows each member of each method's params in Codex's schema, and no other.
func TestHasParam(t *testing.T) {
	var schema struct {
		Methods map[string]map[string]struct{ Params []string }
	}
	if err := json.Unmarshal(methods.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for side, kind := range map[methods.Side]rpc.MessageKind{methods.ClientRequest: rpc.Request, methods.ClientNotification: rpc.Notification} {
		for method, shape := range schema.Methods[side.String()] {
			for _, member := range shape.Params {
				checked++
				if !methods.HasParam(kind, method, member) {
					t.Errorf("%s: %s is not known", method, member)
				}
			}
			if row, _ := methods.Lookup(side, method); row.Verdict == methods.Pass && methods.HasParam(kind, method, "noSuchMember") {
				t.Errorf("%s: its params can have any member", method)
			}
		}
	}
	if checked < 300 {
		t.Errorf("only %d members", checked)
	}
}
