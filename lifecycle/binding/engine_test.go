package binding_test

import (
	"strings"
	"testing"

	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/rpc"
)

func readEngine(t *testing.T, text string) *binding.Engine {
	t.Helper()
	doc, err := rpc.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	e, err := binding.ReadEngine(doc.Root())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func engineRecord(t *testing.T, text string) *binding.ContextEngine {
	t.Helper()
	b, err := readEngine(t, text).Binding()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEngineActive(t *testing.T) {
	var none *binding.Engine
	if none.Active() {
		t.Error("no engine is active")
	}
	for text, active := range map[string]bool{
		`{"id":"eng"}`: true, `{"id":" "}`: false, `{"id":"legacy"}`: false, `{}`: false, `{"id":null}`: false,
	} {
		if got := readEngine(t, text).Active(); got != active {
			t.Errorf("%s is active: %v", text, got)
		}
		if b := engineRecord(t, text); (b != nil) != active {
			t.Errorf("%s is kept as %v", text, b)
		}
	}
}

func TestSameEngine(t *testing.T) {
	const plain = `{"id":"e","version":"1","ownsCompaction":true,"turnMaintenanceMode":"background","citationsMode":{"a":1,"b":2}`
	one := engineRecord(t, plain+`}`)
	for _, c := range []struct {
		text string
		same bool
	}{
		{plain + `}`, true},
		{plain + `,"name":"another"}`, true},
		{plain + `,"reserveTokens":5}`, true}, // without a budget it bounds nothing
		{`{"citationsMode":{"b":2.0,"a":1},"turnMaintenanceMode":"background","ownsCompaction":true,"version":"1","id":" e "}`, true},
		{plain + `,"contextTokenBudget":100000}`, false},
		{plain + `,"projection":{"epoch":"1"}}`, false},
		{strings.Replace(plain, `"1"`, `"2"`, 1) + `}`, false},
		{strings.Replace(plain, `true`, `"true"`, 1) + `}`, false},
		{strings.Replace(plain, `background`, `foreground`, 1) + `}`, false},
		{strings.Replace(plain, `:2`, `:3`, 1) + `}`, false},
		{strings.Replace(plain, `"e"`, `"f"`, 1) + `}`, false},
		{`{"id":"e"}`, false},
	} {
		if got := binding.SameEngine(one, engineRecord(t, c.text)); got != c.same {
			t.Errorf("the same as %s: %v", c.text, got)
		}
	}
	if binding.SameEngine(one, nil) || binding.SameEngine(nil, one) || !binding.SameEngine(nil, nil) {
		t.Error("no engine is the same as one")
	}
	a := engineRecord(t, plain+`,"contextTokenBudget":100000,"reserveTokens":30000,"projection":{"epoch":"1","fingerprint":"f","mode":"thread_bootstrap"}}`)
	for text, same := range map[string]bool{
		`,"contextTokenBudget":100000,"reserveTokens":30000,"projection":{"epoch":"1","fingerprint":"f"}}`: true,
		`,"contextTokenBudget":100000,"reserveTokens":30001,"projection":{"epoch":"1","fingerprint":"f"}}`: false,
		`,"contextTokenBudget":100000,"reserveTokens":30000,"projection":{"epoch":"2","fingerprint":"f"}}`: false,
		`,"contextTokenBudget":100000,"reserveTokens":30000,"projection":{"epoch":"1"}}`:                   false,
	} {
		if got := binding.SameEngine(a, engineRecord(t, plain+text)); got != same {
			t.Errorf("the same as %s: %v", text, got)
		}
	}
}

func TestReadEngineErrors(t *testing.T) {
	for _, text := range []string{
		`[]`, `"eng"`, `{"id":5}`, `{"id":"e","version":1}`, `{"id":"e","contextTokenBudget":-1}`, `{"id":"e","contextTokenBudget":1.5}`,
		`{"id":"e","contextTokenBudget":1e300}`, `{"id":"e","projection":{}}`, `{"id":"e","projection":{"epoch":" "}}`,
		`{"id":"e","projection":{"epoch":"1","mode":"per_turn"}}`, `{"id":"e","projection":{"epoch":"1","fingerprint":1}}`, `{"id":"e","citations":1}`,
	} {
		doc, err := rpc.ParseValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if e, err := binding.ReadEngine(doc.Root()); err == nil {
			t.Errorf("%s is read as %+v", text, e)
		}
	}
}
