//go:build unix

package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestProjectionLimitsVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	type maxChars struct {
		ContextTokenBudget, ReserveTokens any
		MaxChars                          int
	}
	eachCase(t, "projection_limits.json", "maxChars", func(t *testing.T, c maxChars) {
		engine := map[string]any{"contextTokenBudget": c.ContextTokenBudget, "reserveTokens": c.ReserveTokens, "reserveTokensFloor": 0}
		if c.ReserveTokens == nil {
			delete(engine, "reserveTokensFloor")
		}
		got, err := projectionChars(t, engine)
		if _, isText := c.ContextTokenBudget.(string); isText { // see DEVIATIONS.md
			if err == nil {
				t.Errorf("%v: %d characters, want an error", engine, got)
			}
			return
		}
		if err != nil || got != c.MaxChars {
			t.Errorf("%v: %d characters, %v; want %d", engine, got, err, c.MaxChars)
		}
	})
	type reserveTokens struct {
		Compaction map[string]any
		Reserve    *int
	}
	eachCase(t, "projection_limits.json", "reserveTokens", func(t *testing.T, c reserveTokens) {
		const window, usual = 200_000, 20_000
		engine := map[string]any{"contextTokenBudget": window}
		for name, value := range c.Compaction {
			engine[name] = value
		}
		want := usual
		if c.Reserve != nil {
			want = *c.Reserve
		}
		got, err := projectionChars(t, engine)
		if reserve := window - got/4; err != nil || reserve != want {
			t.Errorf("%v: the reserve is %d, %v; want %d", c.Compaction, reserve, err, want)
		}
	})
	type projected struct {
		Prompt         string
		Messages       []any
		ContextBlock   *string
		EndsWithPrompt bool
	}
	eachCase(t, "projection_limits.json", "projected", func(t *testing.T, c projected) {
		var w *assembled
		w = newAssembled(t, "", one(&w))
		w.initialize(nil)
		for range 2 {
			w.must("bridge/turn/run", map[string]any{"sessionKey": "s", "input": c.Prompt, "history": c.Messages})
		}
		var told []string
		for _, r := range withMethod(w.takeRequests(), "turn/start") {
			told = append(told, r.Params["input"].([]any)[0].(map[string]any)["text"].(string))
		}
		if len(told) != 2 || told[1] != c.Prompt {
			t.Fatalf("got %q", told)
		}
		if c.ContextBlock == nil && told[0] != c.Prompt || c.ContextBlock != nil && !strings.Contains(told[0], "\n"+*c.ContextBlock+"\n") ||
			strings.HasSuffix(told[0], c.Prompt) != c.EndsWithPrompt {
			t.Errorf("got %q", told[0])
		}
	})
}

// projectionChars returns the maximum number of history characters for a thread under an engine.
func projectionChars(t *testing.T, engine map[string]any) (int, error) {
	t.Helper()
	var w *assembled
	w = newAssembled(t, "", one(&w))
	w.initialize(nil)
	const key = "s"
	engine["id"] = "eng"
	if _, err := w.call("thread/start", map[string]any{"bridge": map[string]any{"sessionKey": key, "contextEngine": engine}}); err != nil {
		return 0, err
	}
	text := w.recordOf(key).ContextEngine.Policy
	var policy struct{ ProjectionMaxChars int }
	err := json.Unmarshal([]byte(text[strings.IndexByte(text, '{'):]), &policy)
	return policy.ProjectionMaxChars, err
}
