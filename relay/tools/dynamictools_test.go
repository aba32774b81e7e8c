package tools_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge.example/relay/tools"
)

func fingerprint(t *testing.T, list json.RawMessage) string {
	t.Helper()
	print, err := tools.Fingerprint(list)
	if err != nil {
		t.Fatal(err)
	}
	return print
}

// Both forms have the same fingerprint, whatever a namespace's description.
func TestFingerprintIsEqualForBothForms(t *testing.T) {
	flat := `[{"name":"a","description":"x","inputSchema":{"type":"object"},"namespace":"n","deferLoading":true},{"inputSchema":true,"name":"b","description":"y"}]`
	nested := `[{"type":"function","name":"b","description":"z","inputSchema":true},
		{"type":"namespace","name":"n","description":"q","tools":[{"type":"function","deferLoading":true,"name":"a","description":"w","inputSchema":{"type":"object"}}]}]`
	if a, b := fingerprint(t, json.RawMessage(flat)), fingerprint(t, json.RawMessage(nested)); a != b {
		t.Errorf("%s\n%s", a, b)
	}
	for _, nothing := range []string{"", "null", "[]", " [ ] "} {
		if got := fingerprint(t, json.RawMessage(nothing)); got != tools.NoTools {
			t.Errorf("%q: %s", nothing, got)
		}
	}
	for _, bad := range []string{"{}", "[null]", "[1]", `[{"type":"namespace","name":"n"}`, `[{"type":"namespace","name":"n","tools":[null]}]`, `[{"type":"namespace","tools":5}]`, `[{"name":"a","inputSchema":{"minimum":1e999}}]`} {
		if got, err := tools.Fingerprint(json.RawMessage(bad)); err == nil {
			t.Errorf("%s: %s", bad, got)
		}
	}
}

// Equal JSON has an equal fingerprint; a different schema has another.
func TestFingerprintDependsOnTheJSONOnly(t *testing.T) {
	value := rapid.Deferred(func() *rapid.Generator[any] {
		return rapid.OneOf(rapid.Bool().AsAny(), rapid.Int32().AsAny(), rapid.StringMatching(`[a-z<"é]{0,4}`).AsAny(),
			rapid.MapOfN(rapid.StringMatching(`[a-c]{1,2}`), rapid.Int8().AsAny(), 0, 4).AsAny())
	})
	rapid.Check(t, func(t *rapid.T) {
		tool := func(v any) []map[string]any {
			return []map[string]any{{"name": "a", "description": "d", "inputSchema": v}}
		}
		print := func(v any, indent string) string {
			text, err := json.MarshalIndent(v, "", indent)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tools.Fingerprint(text)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		a, b := value.Draw(t, "a"), value.Draw(t, "b")
		if print(tool(a), "") != print(tool(a), "  ") {
			t.Fatal("spaces count")
		}
		one, _ := json.Marshal(a)
		other, _ := json.Marshal(b)
		if (print(tool(a), "") == print(tool(b), "")) != (string(one) == string(other)) {
			t.Fatalf("%s and %s", one, other)
		}
	})
}
