package methods_test

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/rpc"
)

// The error about an unknown variant names those that Codex has.
func TestUnknownVariantNamesKnownOnes(t *testing.T) {
	doc, err := rpc.ParseValue([]byte(`{"threadId":"t","input":[{"type":"file"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	wrong := methods.CheckRequest("turn/start", doc.Root())
	if wrong == nil || !strings.HasPrefix(wrong.Want, "one of ") || !strings.Contains(wrong.Want, "localImage, ") {
		t.Errorf("%+v", wrong)
	}
}
