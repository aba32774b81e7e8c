package answer_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/rpc"
)

func value(t testing.TB, text []byte) rpc.Value {
	t.Helper()
	doc, err := rpc.ParseValue(text)
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

func same(t *testing.T, got, want json.RawMessage) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if err := json.Unmarshal(want, &w); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("the answer (-want +got):\n%s", diff)
	}
}

func parse(text string) (rpc.Value, error) {
	doc, err := rpc.ParseValue([]byte(text))
	if err != nil {
		return rpc.Value{}, err
	}
	return doc.Root(), nil
}
