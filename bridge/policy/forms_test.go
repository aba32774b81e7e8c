package policy_test

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"testing"

	"codex-bridge.example/bridge/bridgetest/forms"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/rpc"
)

// at returns the value at a path.
func at(v rpc.Value, path []string) rpc.Value {
	for _, name := range path {
		if v.Kind() == rpc.Array {
			i, next := 0, rpc.Value{}
			for element := range v.Elements() {
				if strconv.Itoa(i) == name {
					next = element
				}
				i++
			}
			v = next
			continue
		}
		v = v.Get(name)
	}
	return v
}

// permissive allows every method, so that only a message's form can be refused.
func permissive() config.Policy {
	p := contract()
	p.Methods = make(map[string]string)
	for method := range methods.Shapes().Requests {
		p.Methods[method] = "allow"
	}
	return p
}

// TestOtherForms checks that other forms that serde reads as a valid value are refused or removed,
// for all objects, enums and tagged unions of all methods and responses.
func TestOtherForms(t *testing.T) {
	table := methods.Shapes()
	p, st := compile(t, permissive()), state()
	st.Thread.ID = "T"
	passed, tried := 0, 0
	for _, method := range slices.Sorted(maps.Keys(table.Requests)) {
		s := table.Requests[method]
		request := func(params string) []byte {
			return []byte(`{"id":1,"method":` + strconv.Quote(method) + `,"params":` + params + `}`)
		}
		m, err := rpc.ParseMessage(request(forms.Plain(table, s)))
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		switch d := p.Decide(m, st); {
		case d.Verdict != policy.Deny:
			passed++
		case d.Refusal().Rule == "protocol":
			t.Errorf("%s: the plain form is refused: %v", method, d.Err)
		}
		for _, f := range forms.Of(table, s) {
			tried++
			m, err := rpc.ParseMessage(request(f.Value))
			if err != nil {
				continue
			}
			if f.Text == "" {
				t.Errorf("%s: %s: %s is parsed", method, f.Kind, f.Value)
				continue
			}
			d := p.Decide(m, st)
			if d.Verdict == policy.Deny {
				continue
			}
			sent, err := rpc.ParseMessage(d.Message)
			if err != nil {
				t.Fatal(err)
			}
			if got := at(sent.Params, f.Path); got.Exists() && bytes.Equal(got.Raw(), []byte(f.Text)) {
				t.Errorf("%s: %s at %q passes: %s", method, f.Kind, f.Path, d.Message)
			}
		}
	}
	if passed < len(table.Requests)/2 {
		t.Errorf("of %d plain messages %d pass: the rest is not tested", len(table.Requests), passed)
	}
	for _, method := range slices.Sorted(maps.Keys(table.Answers)) {
		for _, f := range forms.Of(table, table.Answers[method]) {
			tried++
			m, err := rpc.ParseMessage([]byte(`{"id":1,"result":` + f.Value + `}`))
			if err != nil {
				continue
			}
			params, err := rpc.ParseValue([]byte(`{"threadId":"T"}`))
			if err != nil {
				t.Fatal(err)
			}
			d := serverrequest.DecideAnswer(p, serverrequest.Request{Method: method, Params: params.Root()}, m, st)
			if d.Verdict == policy.Deny {
				continue
			}
			sent, err := rpc.ParseMessage(d.Message)
			if err != nil {
				t.Fatal(err)
			}
			if got := at(sent.Result, f.Path); got.Exists() && bytes.Equal(got.Raw(), []byte(f.Text)) {
				t.Errorf("answer to %s: %s at %q passes: %s", method, f.Kind, f.Path, d.Message)
			}
		}
	}
	t.Logf("%d forms", tried)
	if tried < 10_000 {
		t.Errorf("%d forms are fewer than the schema has", tried)
	}
}
