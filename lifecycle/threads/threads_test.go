package threads_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/lifecycle/threads"
)

// Codex gets the session members of a client that does not know the bridge, and without
// [thread] nothing is changed.
func TestUnknown(t *testing.T) {
	w := newWorld(t, false, config.Default().Thread)
	w.Play("unknown", `
editor> {"id":1, "method":"thread/start","params":{"bridge":{"sessionKey":"chat"} }}
codex<= {"id":1, "method":"thread/start","params":{"bridge":{"sessionKey":"chat"} }}
codex> {"id":1, "result":{"thread":{"id":"T"}}}
editor<= {"id":1, "result":{"thread":{"id":"T"}}}
editor> {"id":2, "method":"turn/start","params":{"threadId":"T","bridge":{"trigger":"cron"}}}
codex<= {"id":2, "method":"turn/start","params":{"threadId":"T","bridge":{"trigger":"cron"}}}
codex> {"id":2, "result":{}}
editor<= {"id":2, "result":{}}
editor> {"id":3, "method":"bridge/binding/list","params":{}}
codex<= {"id":3, "method":"bridge/binding/list","params":{}}
`)
	if n, _, err := w.store.CountBindings(t.Context()); n != 0 || err != nil {
		t.Error(n, err)
	}
}

// Of a client that knows the bridge, too, what is not a session's passes as it came.
func TestWithoutSession(t *testing.T) {
	w := newWorld(t, true, config.Default().Thread)
	w.Play("plain", `
editor> {"id":1, "method":"thread/start","params":{"model":"m" }}
codex<= {"id":1, "method":"thread/start","params":{"model":"m" }}
codex> {"id":1, "result":{"thread":{"id":"T"},"model":"m"}}
editor<= {"id":1, "result":{"thread":{"id":"T"},"model":"m"}}
editor> {"id":2, "method":"thread/resume","params":{"threadId":"T" }}
codex<= {"id":2, "method":"thread/resume","params":{"threadId":"T" }}
codex> {"id":2, "error":{"code":1,"message":"no"}}
editor<= {"id":2, "error":{"code":1,"message":"no"}}
editor> {"id":3, "method":"turn/start","params":{"threadId":"T","bridge":{} }}
codex< {"id":3, "method":"turn/start","params":{"threadId":"T"}}
editor> {"id":4, "method":"turn/start","params":{"threadId":"U","bridge":{"trigger":"cron"}}}
editor< {"id":4, "error":{"code":-32602,"message":"<text>"}}
`)
}

// [thread] comes into what a client asks for: configured first, then the client's own.
func TestConfigured(t *testing.T) {
	thread := config.Thread{ServiceName: "house", DeveloperInstructions: "Be kind.", Config: map[string]any{"a": map[string]any{"b": 1, "c": 2}}, On: true}
	w := newWorld(t, false, thread)
	w.Play("configured", `
editor> {"id":1,"method":"thread/start","params":{"config":{"a":{"c":3}},"developerInstructions":"Be brief.","later":1.50}}
codex< {"id":1,"method":"thread/start","params":{"config":{"a":{"b":1,"c":3}},"developerInstructions":"Be kind.\n\nBe brief.","serviceName":"house","later":1.50}}
codex> {"id":1,"result":{"thread":{"id":"T"}}}
editor<= {"id":1,"result":{"thread":{"id":"T"}}}
editor> {"id":2,"method":"thread/start","params":{"serviceName":"own"}}
codex< {"id":2,"method":"thread/start","params":{"config":{"a":{"b":1,"c":2}},"developerInstructions":"Be kind.","serviceName":"own"}}
codex> {"id":2,"result":{"thread":{"id":"U"}}}
editor<= {"id":2,"result":{"thread":{"id":"U"}}}
editor> {"id":3,"method":"thread/resume","params":{"threadId":"U"}}
codex< {"id":3,"method":"thread/resume","params":{"threadId":"U","config":{"a":{"b":1,"c":2}}}}
codex> {"id":3,"result":{"thread":{"id":"U"}}}
editor<= {"id":3,"result":{"thread":{"id":"U"}}}
editor> {"id":4,"method":"thread/start","params":{"developerInstructions":5}}
editor< {"id":4,"error":{"code":-32602,"message":"<text>"}}
`)
}

// A record that can't be read is no binding, and is not lost.
func TestBadRecord(t *testing.T) {
	for name, text := range map[string]string{"no JSON": "{", "a later version": `{"schemaVersion":2,"threadId":"T"}`} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, true, config.Default().Thread)
			w.bind(t, store.Binding{Session: "chat", Thread: "T", Record: text})
			w.Play(name, `
editor> {"id":1,"method":"bridge/binding/read","params":{"sessionKey":"chat"}}
editor< {"id":1,"result":{"binding":{"sessionKey":"chat","threadId":"T","cwd":"","createdAt":"","updatedAt":"2026-02-01T12:00:00Z","fingerprints":{},"problem":"<text>"}}}
editor> {"id":2,"method":"thread/start","params":{"bridge":{"sessionKey":"chat"}}}
codex< {"id":2,"method":"thread/start","params":{"serviceName":"codex-bridge"}}
codex> {"id":2,"result":{"thread":{"id":"U"},"model":"m"}}
editor< {"id":2,"result":{"thread":{"id":"U"},"model":"m","bridge":{"action":"started","reason":"notBound","fingerprints":{"dynamicTools":"$none"}}}}
`)
			if n, aside, err := w.store.CountBindings(t.Context()); n != 1 || aside != 1 || err != nil {
				t.Error(n, aside, err)
			}
		})
	}
}

// A thread that can't be kept is no session's, and the client is told.
func TestNotKept(t *testing.T) {
	w := newWorld(t, true, config.Default().Thread)
	w.Play("started", `
editor> {"id":1,"method":"thread/start","params":{"bridge":{"sessionKey":"chat"}}}
codex< {"id":1,"method":"thread/start","params":{"serviceName":"codex-bridge"}}
`)
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	w.Play("not kept", `
codex> {"id":1,"result":{"thread":{"id":"U"},"model":"m"}}
editor< {"id":1,"error":{"code":-32603,"message":"<text>"}}
editor> {"id":2,"method":"bridge/binding/list","params":{}}
editor< {"id":2,"error":{"code":-32603,"message":"<text>"}}
editor> {"id":3,"method":"thread/start","params":{"bridge":{"sessionKey":"chat"}}}
editor< {"id":3,"error":{"code":-32603,"message":"<text>"}}
`)
}

// A process releases its leases.
func TestClose(t *testing.T) {
	w := newWorld(t, true, config.Default().Thread)
	w.Play("started", `
editor> {"id":1,"method":"thread/start","params":{"bridge":{"sessionKey":"chat"}}}
codex< {"id":1,"method":"thread/start","params":{"serviceName":"codex-bridge"}}
codex> {"id":1,"error":{"code":-32600,"message":"no"}}
editor< {"id":1,"error":{"code":-32600,"message":"no"}}
`)
	if got := w.feature.State(); got != (threads.State{Sessions: 1}) {
		t.Errorf("it holds %+v", got)
	}
	if err := w.feature.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h, found, err := w.store.LeaseHolder(t.Context(), "chat"); found || err != nil {
		t.Error(h, err)
	}
}

// The list of bindings comes in pages, whose last one has no cursor.
func TestListInPages(t *testing.T) {
	w := newWorld(t, true, config.Default().Thread)
	for i := range 5 {
		w.bind(t, store.Binding{Session: fmt.Sprint("s", i), Thread: fmt.Sprint("T", i), Record: record})
	}
	var got []string
	page := func(params string) (next string) {
		w.EditorSends(`{"id":1,"method":"bridge/binding/list","params":` + params + `}`)
		var m struct {
			Result struct {
				Bindings   []struct{ SessionKey string }
				NextCursor *string
			}
		}
		if err := json.Unmarshal([]byte(<-w.EditorReceives()), &m); err != nil {
			t.Fatal(err)
		}
		for _, b := range m.Result.Bindings {
			got = append(got, b.SessionKey)
		}
		if m.Result.NextCursor == nil {
			return ""
		}
		return *m.Result.NextCursor
	}
	pages := 1
	for next := page(`{"limit":2}`); next != ""; pages++ {
		next = page(`{"limit":2,"cursor":"` + next + `"}`)
	}
	if want := []string{"s0", "s1", "s2", "s3", "s4"}; !slices.Equal(got, want) || pages != 3 {
		t.Errorf("%d pages with %q", pages, got)
	}
	if next := page(`{"cursor":null,"limit":null}`); next != "" || len(got) != 10 {
		t.Errorf("all: %q, next %s", got, next)
	}
	for _, params := range []string{`{"limit":0}`, `{"limit":"x"}`, `{"limit":1.5}`, `{"cursor":7}`, `{"cursor":"x"}`, `{"cursor":"bnVsbA"}`} {
		w.Play(params, `
editor> {"id":1,"method":"bridge/binding/list","params":`+params+`}
editor< {"id":1,"error":{"code":-32602,"message":"<text>"}}
`)
	}
}

// Concurrent changes of a binding are all kept: the model from Codex, the rest from requests
// of clients.
func TestChangedAtOnce(t *testing.T) {
	w := newWorld(t, true, config.Default().Thread)
	w.bind(t, store.Binding{Session: "chat", Thread: "T", Record: record})
	const most = 20
	var all sync.WaitGroup
	for range most {
		all.Go(func() {
			if err := w.feature.Change(t.Context(), "chat", "T", func(b *binding.Binding) { b.Model += "+" }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	kept, _, err := w.store.BindingBySession(t.Context(), "chat")
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := binding.Read([]byte(kept.Record), "chat", time.Time{})
	if want := "m" + strings.Repeat("+", most); err != nil || b.Model != want {
		t.Errorf("of %d changes is left %q, %v", most, b.Model, err)
	}
}
