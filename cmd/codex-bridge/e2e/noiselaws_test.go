//go:build linux

package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"codex-bridge.example/cmd/internal/noise"
)

// noiseValue draws a JSON value.
func noiseValue() *rapid.Generator[any] {
	return rapid.Deferred(func() *rapid.Generator[any] {
		return rapid.OneOf(
			rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int32().AsAny(), rapid.String().AsAny(), rapid.Just[any](`a "noise/s1":7, text\`),
			rapid.SliceOfN(noiseValue(), 0, 3).AsAny(), noiseObject().AsAny(),
		)
	})
}

func noiseObject() *rapid.Generator[map[string]any] {
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "arguments", "config", "item", "c:d", `"{`}), rapid.Deferred(noiseValue), 0, 3)
}

// Members adds members outside of data, and withoutNoise removes them byte for byte, also after the
// message was decoded and encoded again.
func TestNoiseMembers(t *testing.T) {
	t.Parallel()
	changed := 0
	rapid.Check(t, func(t *rapid.T) {
		message := noiseObject().Draw(t, "message")
		line, err := json.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		source := noise.New(rapid.Uint64().Draw(t, "seed"), "test", "s")
		for range 20 {
			with := source.Members(line, rapid.Bool().Draw(t, "top"))
			if bytes.Equal(with, line) {
				continue
			}
			changed++
			if stripped := withoutNoise(with); !bytes.Equal(stripped, line) {
				t.Fatalf("%s\nwith    %s\nwithout %s", line, with, stripped)
			}
			var anew map[string]any
			if err := json.Unmarshal(with, &anew); err != nil {
				t.Fatalf("%v: %s", err, with)
			}
			for key, member := range anew {
				if key != "arguments" && key != "config" {
					continue
				}
				if diff := cmp.Diff(fmt.Sprint(encodedJSON(t, message[key])), encodedJSON(t, member)); diff != "" {
					t.Fatalf("data changed: %s", diff)
				}
			}
			if stripped := withoutNoise([]byte(encodedJSON(t, anew))); string(stripped) != string(line) {
				t.Fatalf("anew    %s\nwithout %s", encodedJSON(t, anew), stripped)
			}
		}
	})
	if changed == 0 {
		t.Error("no message got a member")
	}
}

func encodedJSON(t *rapid.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestNoiseClient(t *testing.T) {
	t.Parallel()
	var faults []string
	c := &noiseClient{source: noise.New(1, "test", "c"), params: true, fail: func(fault string) { faults = append(faults, fault) }}
	for _, test := range []struct{ line, rest, reply string }{
		{`{"method":"turn/started","params":{}}`, `{"method":"turn/started","params":{}}`, ""},
		{`{"method":"turn/started","noise/s1":{},"params":{}}`, `{"method":"turn/started","params":{}}`, ""},
		{`{"id":3,"result":{"noise/s1":"text"}}`, `{"id":3,"result":{}}`, ""},
		{`nonsense "noise/s1":7`, `nonsense "noise/s1":7`, ""},
		{`{"method":"noise/s1"}`, "", ""},
		{`{"method":"bridge/policy/applied","params":{"method":"noise/c1"}}`, "", ""},
		{`{"id":"noise/s1","method":"noise/s1"}`, "", `{"id":"noise/s1","error":{"code":-32601,"message":"no such method"}}`},
	} {
		rest, reply, drop := c.Incoming([]byte(test.line))
		if string(rest) != test.rest || string(reply) != test.reply || drop != (test.rest == "") {
			t.Errorf("%s: %s, %s, %t", test.line, rest, reply, drop)
		}
	}
	if faults != nil {
		t.Error(faults)
	}

	if out := c.Outgoing("initialize", []byte(`{}`)); string(out) != `{}` {
		t.Errorf("before initialized: %s", out)
	}
	c.Outgoing("initialized", []byte(`{}`))
	var left []string
	for ; len(left) < 2; left, _ = c.unanswered() {
		lines := bytes.Split(c.Outgoing("thread/list", []byte(`{"id":1}`)), []byte("\n"))
		if last := withoutNoise(lines[len(lines)-1]); string(last) != `{"id":1}` {
			t.Fatalf("%s", lines)
		}
	}
	answer := func(id, how string) { c.Incoming(fmt.Appendf(nil, `{"id":%q,%s}`, id, how)) }
	answer(left[0], `"error":{"code":-32601}`)
	if len(faults) > 0 {
		t.Error(faults)
	}
	answer(left[0], `"error":{"code":-32601}`) // twice
	answer(left[1], `"result":{}`)
	if len(faults) != 2 {
		t.Error(faults)
	}
}
