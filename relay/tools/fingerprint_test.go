package tools_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge/lifecycle/binding"
	"codex-bridge/lifecycle/decide"
	"codex-bridge/relay/tools"
)

// fingerprints are testdata/vectors/dynamic_tools_fingerprint.json.
type fingerprints struct {
	Cases []struct {
		Name string
		A, B json.RawMessage
		Seed struct {
			Same bool
			A    string `json:"fingerprint_a"`
			B    string `json:"fingerprint_b"`
		}
	}
	Compatibility []struct {
		Previous   *string
		Next       string
		Compatible bool
	}
}

// lower is a name whose order is the same by bytes and in a language. All other names may
// stand in another order here: see DEVIATIONS.md.
var lower = regexp.MustCompile(`^[a-z]*$`)

// entries returns the tools of a fingerprint in the order of their texts, and whether each
// name is a lower one.
func entries(t *testing.T, print string) (sorted []string, plain bool) {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(print), &list); err != nil {
		t.Fatalf("%s: %v", print, err)
	}
	plain = true
	for _, text := range list {
		var tool struct{ Name string }
		if err := json.Unmarshal(text, &tool); err != nil {
			t.Fatal(err)
		}
		sorted, plain = append(sorted, string(text)), plain && lower.MatchString(tool.Name)
	}
	slices.Sort(sorted)
	return sorted, plain
}

func fingerprint(t *testing.T, list json.RawMessage) string {
	t.Helper()
	print, err := tools.Fingerprint(list)
	if err != nil {
		t.Fatal(err)
	}
	return print
}

func TestDynamicToolsFingerprintVectors(t *testing.T) {
	var v fingerprints
	read(t, "dynamic_tools_fingerprint.json", &v)
	if len(v.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range v.Cases {
		t.Run(c.Name, func(t *testing.T) {
			a, b := fingerprint(t, c.A), fingerprint(t, c.B)
			if (a == b) != c.Seed.Same {
				t.Errorf("%s\n%s", a, b)
			}
			for got, want := range map[string]string{a: c.Seed.A, b: c.Seed.B} {
				ours, plain := entries(t, got)
				theirs, _ := entries(t, want)
				if !slices.Equal(ours, theirs) || plain && got != want {
					t.Errorf("the fingerprint is\n%s, want\n%s", got, want)
				}
			}
		})
	}
}

// What decides whether a thread keeps its tools is the decision about its session.
func TestDynamicToolsFingerprintVectorsCompatibility(t *testing.T) {
	var v fingerprints
	read(t, "dynamic_tools_fingerprint.json", &v)
	if len(v.Compatibility) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range v.Compatibility {
		was := ""
		if c.Previous != nil {
			was = *c.Previous
		}
		got := decide.Thread(binding.Binding{ThreadID: "T", DynamicTools: was}, decide.Inputs{DynamicTools: c.Next})
		if (got.Action == decide.Resume) != c.Compatible {
			t.Errorf("%q to %q: %s, because of %s", was, c.Next, got.Action, got.Reason)
		}
	}
}

// Both forms of the wire have the same fingerprint, whatever the words for a namespace.
func TestFingerprintOfForms(t *testing.T) {
	flat := `[{"name":"a","description":"x","inputSchema":{"type":"object"},"namespace":"n","deferLoading":true},{"inputSchema":true,"name":"b","description":"y"}]`
	nested := `[{"type":"function","name":"b","description":"z","inputSchema":true},
		{"type":"namespace","name":"n","description":"q","tools":[{"type":"function","deferLoading":true,"name":"a","description":"w","inputSchema":{"type":"object"}}]}]`
	if a, b := fingerprint(t, json.RawMessage(flat)), fingerprint(t, json.RawMessage(nested)); a != b {
		t.Errorf("%s\n%s", a, b)
	}
	for _, nothing := range []string{"", "null", "[]", " [ ] "} {
		if got := fingerprint(t, json.RawMessage(nothing)); got != tools.None {
			t.Errorf("%q: %s", nothing, got)
		}
	}
	for _, bad := range []string{"{}", "[null]", "[1]", `[{"type":"namespace","name":"n"}`, `[{"type":"namespace","name":"n","tools":[null]}]`, `[{"type":"namespace","tools":5}]`, `[{"name":"a","inputSchema":{"minimum":1e999}}]`} {
		if got, err := tools.Fingerprint(json.RawMessage(bad)); err == nil {
			t.Errorf("%s: %s", bad, got)
		}
	}
}

// What is the same JSON has the same fingerprint, and a schema that is not has another.
func TestFingerprintLaws(t *testing.T) {
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
