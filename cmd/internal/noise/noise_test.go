package noise_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"codex-bridge/cmd/internal/noise"
)

// value draws a JSON value, encoded.
func value() *rapid.Generator[any] {
	return rapid.Deferred(func() *rapid.Generator[any] {
		return rapid.OneOf(
			rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int32().AsAny(), rapid.String().AsAny(), rapid.Just[any](`a "noise/s1":7, text\`),
			rapid.SliceOfN(value(), 0, 3).AsAny(), object().AsAny(),
		)
	})
}

func object() *rapid.Generator[map[string]any] {
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "arguments", "config", "item", "c:d", `"{`}), rapid.Deferred(value), 0, 3)
}

// What Members puts into a message is a member, is nowhere in data, and Strip takes it out
// again: at once byte for byte, and also when somebody has written the message anew.
func TestMembers(t *testing.T) {
	t.Parallel()
	changed := 0
	rapid.Check(t, func(t *rapid.T) {
		message := object().Draw(t, "message")
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
			if stripped := noise.Strip(with); !bytes.Equal(stripped, line) {
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
				if diff := cmp.Diff(fmt.Sprint(encoded(t, message[key])), encoded(t, member)); diff != "" {
					t.Fatalf("data was touched: %s", diff)
				}
			}
			if stripped := noise.Strip([]byte(encoded(t, anew))); string(stripped) != string(line) {
				t.Fatalf("anew    %s\nwithout %s", encoded(t, anew), stripped)
			}
		}
	})
	if changed == 0 {
		t.Error("no message had a member more")
	}
}

func encoded(t *rapid.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The same seed makes the same noise.
func TestSeed(t *testing.T) {
	t.Parallel()
	make := func(seed uint64) string {
		var all strings.Builder
		source := noise.New(seed, "test", "s")
		for range 200 {
			id, request := source.Request()
			fmt.Fprintf(&all, "%s\n%s\n%s\n", source.Notification(), request, source.Members([]byte(`{"result":{}}`), false))
			if request != nil && !noise.Is(id) {
				t.Errorf("%s is no noise", id)
			}
		}
		return all.String()
	}
	if diff := cmp.Diff(make(7), make(7)); diff != "" {
		t.Error(diff)
	}
	if make(7) == make(8) {
		t.Error("two seeds make the same")
	}
}

// An editor answers the server's requests, takes note of the answers to its own, and leaves the rest alone.
func TestHeard(t *testing.T) {
	t.Parallel()
	var faults []string
	c := &noise.Client{Source: noise.New(1, "test", "c"), Params: true, Fault: func(fault string) { faults = append(faults, fault) }}
	for _, test := range []struct{ line, rest, reply string }{
		{`{"method":"turn/started","params":{}}`, `{"method":"turn/started","params":{}}`, ""},
		{`{"method":"turn/started","noise/s1":{},"params":{}}`, `{"method":"turn/started","params":{}}`, ""},
		{`{"id":3,"result":{"noise/s1":"text"}}`, `{"id":3,"result":{}}`, ""},
		{`nonsense "noise/s1":7`, `nonsense "noise/s1":7`, ""},
		{`{"method":"noise/s1"}`, "", ""},
		{`{"method":"bridge/policy/applied","params":{"method":"noise/c1"}}`, "", ""},
		{`{"id":"noise/s1","method":"noise/s1"}`, "", `{"id":"noise/s1","error":{"code":-32601,"message":"no such method"}}`},
	} {
		rest, reply, is := c.Heard([]byte(test.line))
		if string(rest) != test.rest || string(reply) != test.reply || is != (test.rest == "") {
			t.Errorf("%s: %s, %s, %t", test.line, rest, reply, is)
		}
	}
	if faults != nil {
		t.Error(faults)
	}

	if said := c.Say("initialize", []byte(`{}`)); string(said) != `{}` {
		t.Errorf("before hands were shaken: %s", said)
	}
	c.Say("initialized", []byte(`{}`))
	var left []string
	for ; len(left) < 2; left, _ = c.Left() {
		lines := bytes.Split(c.Say("thread/list", []byte(`{"id":1}`)), []byte("\n"))
		if last := noise.Strip(lines[len(lines)-1]); string(last) != `{"id":1}` {
			t.Fatalf("%s", lines)
		}
	}
	answer := func(id, how string) { c.Heard(fmt.Appendf(nil, `{"id":%q,%s}`, id, how)) }
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
