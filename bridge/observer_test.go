package bridge_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/rpc"

	"github.com/google/go-cmp/cmp"
)

// fakeObserver writes a line for each call.
type fakeObserver struct {
	mu   sync.Mutex
	told []string
	part strings.Builder
}

func (t *fakeObserver) note(what, line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told = append(t.told, what+" "+strings.TrimSpace(line))
}

func (t *fakeObserver) Received(from bridge.Side, line []byte) {
	t.note(from.String()+" says", string(line))
}
func (t *fakeObserver) Sending(to bridge.Side, line []byte) {
	t.note(to.String()+" gets", string(line))
}

func (t *fakeObserver) ForwardedLines(lines []byte, count int) {
	if strings.Count(string(lines), "\n") != count {
		t.note("not as many lines:", string(lines))
	}
	for line := range strings.Lines(string(lines)) {
		t.note("passed", line)
	}
}

func (t *fakeObserver) ForwardedPart(part []byte, last bool) {
	if t.part.Write(part); last {
		t.note("passed", t.part.String())
		t.part.Reset()
	}
}

// An Observer sees each message and its receiver: forwarded ones, also of unknown methods,
// rewritten ones, withheld ones, and those of the bridge. Lines are not gathered for it: a line
// longer than the maximum still passes.
func TestObserver(t *testing.T) {
	long := `{"method":"long","params":{"text":"` + strings.Repeat("word ", 400_000) + `"}}`
	heard := &fakeObserver{}
	c := bridgetest.StartObserved(t, heard, feature{
		{From: bridge.Codex, Method: "secret", HandleServer: func(_ context.Context, s *bridge.ServerMessage) { s.Line = nil }},
		{From: bridge.Codex, Method: "loud", HandleServer: func(_ context.Context, s *bridge.ServerMessage) {
			s.Line = []byte(strings.ToLower(string(s.Line)))
		}},
		{From: bridge.Client, Method: "refuse", HandleClient: func(context.Context, *bridge.ClientMessage) *rpc.Error {
			return rpc.Errorf(rpc.CodeRefused, "refused")
		}},
	})
	c.Play("tap", `
editor> {"id":1,"method":"hello"}
codex<  {"id":1,"method":"hello"}
codex>  {"id":1,"result":{}}
editor< {"id":1,"result":{}}
codex>  {"method":"other","params":{"n":1}}
editor< {"method":"other","params":{"n":1}}
codex>  {"method":"secret"}
codex>  {"method":"loud","params":{"t":"A"}}
editor< {"method":"loud","params":{"t":"a"}}
codex>  {"id":9,"method":"question"}
editor< {"id":9,"method":"question"}
editor> {"id":9,"result":{}}
codex<  {"id":9,"result":{}}
editor> {"id":2,"method":"refuse"}
editor< {"id":2,"error":{"code":-32010,"message":"<text>"}}
codex>  `+long+`
editor< `+long+`
`)
	want := []string{
		`client says {"id":1,"method":"hello"}`, `codex gets {"id":1,"method":"hello"}`,
		`passed {"id":1,"result":{}}`,
		`passed {"method":"other","params":{"n":1}}`,
		`codex says {"method":"secret"}`,
		`codex says {"method":"loud","params":{"t":"A"}}`, `client gets {"method":"loud","params":{"t":"a"}}`,
		`passed {"id":9,"method":"question"}`,
		`client says {"id":9,"result":{}}`, `codex gets {"id":9,"result":{}}`,
		`client says {"id":2,"method":"refuse"}`, `client gets {"error":{"code":-32010,"message":"refused"},"id":2}`,
		"passed " + long,
	}
	heard.mu.Lock()
	defer heard.mu.Unlock()
	if diff := cmp.Diff(want, heard.told); diff != "" {
		t.Errorf("-want +got\n%.4000s", diff)
	}
}

// A notification that is only read is forwarded. The Observer sees it before the feature reads it. If
// another feature handles it, it is not forwarded, and both features get it.
func TestReadOnlyRoute(t *testing.T) {
	heard := &fakeObserver{}
	var handles atomic.Bool
	note := func(who string) func(context.Context, *bridge.ServerMessage) {
		return func(_ context.Context, s *bridge.ServerMessage) { heard.note(who, string(s.Line)) }
	}
	c := bridgetest.StartObserved(t, heard, feature{
		{From: bridge.Codex, Method: "both", HandleServer: note("handles"), When: handles.Load},
	}, feature{
		{From: bridge.Codex, Method: "both", HandleServer: note("reads"), ReadOnly: true},
	}, feature{
		{From: bridge.Codex, Method: "both", HandleServer: note("also reads"), ReadOnly: true, Match: func(line []byte) bool { return strings.Contains(string(line), "also") }},
		{From: bridge.Codex, Method: "match", HandleServer: note("reads"), ReadOnly: true, Match: func(line []byte) bool { return strings.Contains(string(line), "also") }},
	})
	c.Play("forwarded", `
editor> {"method":"hello"}
codex<  {"method":"hello"}
codex>  {"method":"both","params":1}
editor< {"method":"both","params":1}
codex>  {"method":"match","params":1}
editor< {"method":"match","params":1}
codex>  {"method":"match","params":"also"}
editor< {"method":"match","params":"also"}
`)
	handles.Store(true)
	c.Play("handled", `
codex>  {"method":"both","params":2}
editor< {"method":"both","params":2}
`)
	want := []string{
		`client says {"method":"hello"}`, `codex gets {"method":"hello"}`,
		`passed {"method":"both","params":1}`, `reads {"method":"both","params":1}`, `also reads {"method":"both","params":1}`,
		`passed {"method":"match","params":1}`,
		`passed {"method":"match","params":"also"}`, `reads {"method":"match","params":"also"}`,
		`codex says {"method":"both","params":2}`, `handles {"method":"both","params":2}`, `reads {"method":"both","params":2}`,
		`also reads {"method":"both","params":2}`, `client gets {"method":"both","params":2}`,
	}
	heard.mu.Lock()
	defer heard.mu.Unlock()
	if diff := cmp.Diff(want, heard.told); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
