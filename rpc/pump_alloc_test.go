package rpc_test

import (
	"bytes"
	"io"
	"testing"

	"codex-bridge.example/rpc"
)

// mapFilter looks names up in maps, as the proxy does.
type mapFilter struct {
	methods, keys map[string]bool
}

func (s mapFilter) WantsMethod(m []byte, _ bool) bool { return s.methods[string(m)] }
func (s mapFilter) WantsResponse(k []byte) bool       { return s.keys[string(k)] }
func (s mapFilter) MayWantResponse() bool             { return len(s.keys) > 0 }
func (s mapFilter) Handle([]byte)                     {}
func (s mapFilter) HandleTooLong([]byte)              {}

var someWanted = mapFilter{map[string]bool{"turn/completed": true}, map[string]bool{`7`: true, `"own-1`: true}}

func TestForwardedLinesCostNoAllocation(t *testing.T) {
	lines := map[string]string{
		"notification":                 `{"method":"item/agentMessage/delta","params":{"delta":"x"}}`,
		"another each time":            `{"method":"item/started","params":{}}` + "\n" + `{"method":"item/completed","params":{}}`,
		"request":                      `{"id":3,"method":"item/tool/call","params":{}}`,
		"request with a string id":     `{"id":"a\"b","method":"item/tool/call","params":{}}`,
		"answer":                       `{"id":8,"result":{}}`,
		"answer to a string":           `{"id":"own-2","result":{}}`,
		"failure":                      `{"id":8,"error":{"code":1}}`,
		"blank":                        ` `,
		"long line":                    string(bytes.TrimSpace([]byte(notification("m", 3*buffer)))),
		"captured":                     string(bytes.TrimSpace(capture(t, "raw-plain_shell-out.jsonl"))),
		"captured, of a larger client": string(bytes.TrimSpace(capture(t, "codex-acp-2.6.0-crash-out.jsonl"))),
	}
	for name, line := range lines {
		t.Run(name, func(t *testing.T) {
			text := bytes.Repeat([]byte(line+"\n"), 20)
			in := bytes.NewReader(text)
			s := someWanted
			if name == "captured" || name == "captured, of a larger client" {
				s.methods = nil // the test wants responses only
				s.keys = map[string]bool{`"own-1`: true}
			}
			p := rpc.NewPump(rpc.NewLineSink(io.Discard), s, s, 64*mib)
			got := testing.AllocsPerRun(20, func() {
				in.Reset(text)
				if err := p.Run(in); err != nil {
					t.Error(err)
				}
			})
			if got != 0 {
				t.Errorf("%v allocations for %d lines", got, bytes.Count(text, []byte("\n")))
			}
		})
	}
}

// A Sink does not allocate for a message of the bridge.
func TestMessageCostsNoAllocation(t *testing.T) {
	sink := rpc.NewLineSink(io.Discard)
	text := []byte(`{"method":"bridge/policy/applied","params":{}}`)
	if got := testing.AllocsPerRun(100, func() { sink.WriteMessage(text) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// The goal is three (performance.md); the rest is the text of a string id.
func TestParsingCostsFewAllocations(t *testing.T) {
	var p rpc.Parser
	number := turnStart("Please look at main.go.")
	text := bytes.Replace(number, []byte(`"id":11`), []byte(`"id":"11"`), 1)
	for line, want := range map[*[]byte]float64{&number: 0, &text: 1} {
		if got := testing.AllocsPerRun(100, func() {
			if _, err := p.Message(*line, true); err != nil {
				t.Error(err)
			}
		}); got > want {
			t.Errorf("%v allocations for %s", got, *line)
		}
	}
}

func TestReadingValuesCostsNoAllocation(t *testing.T) {
	m, err := rpc.ParseMessage([]byte(`{"id":1,"method":"m","params":{"a":{"b":"text","c":true},"list":[1,2,3]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := testing.AllocsPerRun(100, func() {
		a := m.Params.Get("a")
		if !a.Get("b").Is("text") || a.Get("none").Exists() || m.Params.Get("list").Len() != 3 {
			t.Error("not found")
		}
		if c, ok := a.Get("c").Bool(); !c || !ok {
			t.Error("not true")
		}
		for e := range m.Params.Get("list").Elements() {
			_ = e.Raw()
		}
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}
