package answer_test

import (
	"encoding/json"
	"testing"

	"codex-bridge/bridge/bridgetest/vectors"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/relay/answer"
	"codex-bridge/rpc"
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

func TestDisplayTextVectors(t *testing.T) {
	var v struct{ Cases []struct{ In, Out string } }
	vectors.Read(t, "display_text.json", &v)
	if len(v.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range v.Cases {
		t.Run(c.In, func(t *testing.T) {
			if got := answer.Display(c.In); got != c.Out {
				t.Errorf("%q is shown as %q, want %q", c.In, got, c.Out)
			}
		})
	}
}

func parse(text string) (rpc.Value, error) {
	doc, err := rpc.ParseValue([]byte(text))
	if err != nil {
		return rpc.Value{}, err
	}
	return doc.Root(), nil
}
