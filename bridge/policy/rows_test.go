package policy_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
)

// legacy are members that Codex reads and its schema no longer has.
var legacy = []string{"persistExtendedHistory", "personality"}

// TestJudgedFields checks that exactly the client methods with the verdict rewrite or gate have
// checked fields, that their row names these, and that every field of Codex's schema is checked or
// known. A new field breaks this test.
func TestJudgedFields(t *testing.T) {
	text, err := os.ReadFile("../methods/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Methods map[string]map[string]struct{ Params, ExperimentalParams []string }
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	n := 0
	for row := range methods.Rows() {
		if row.Side != methods.ClientRequest {
			continue
		}
		judged, plain, ok := policy.Judged(row.Method)
		if want := row.Verdict == methods.Rewrite || row.Verdict == methods.Gate; ok != want {
			t.Errorf("%s: its row says %s; judged by fields: %t", row.Method, row.Verdict, ok)
		}
		if !ok {
			continue
		}
		n++
		if row.Verdict == methods.Gate || row.Method == "thread/resume" || row.Method == "thread/fork" {
			judged = append(judged, "threadId")
		}
		slices.Sort(judged)
		if diff := cmp.Diff(row.Fields, slices.Compact(judged)); diff != "" {
			t.Errorf("%s: the row's fields and the judged ones (-row +judged)\n%s", row.Method, diff)
		}
		shape := schema.Methods[row.Side.String()][row.Method]
		members := slices.Concat(shape.Params, shape.ExperimentalParams)
		for _, member := range members {
			if !slices.Contains(judged, member) && !slices.Contains(plain, member) {
				t.Errorf("%s: nobody has judged its field %s", row.Method, member)
			}
		}
		for _, member := range slices.Concat(judged, plain) {
			if !slices.Contains(members, member) && !slices.Contains(legacy, member) {
				t.Errorf("%s: codex has no field %s", row.Method, member)
			}
		}
	}
	if n != policy.JudgedMethods() {
		t.Errorf("%d of %d judged methods have a row", n, policy.JudgedMethods())
	}
}
