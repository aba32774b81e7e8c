//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"codex-bridge.example/bridge/bridgetest/vectors"
)

func TestProjectionLimitsVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	var v struct {
		MaxChars []struct {
			ContextTokenBudget, ReserveTokens any
			MaxChars                          int
		}
		ReserveTokens []struct {
			Compaction map[string]any
			Reserve    *int
		}
		Projected []struct {
			Name, Prompt   string
			Messages       []any
			ContextBlock   *string
			EndsWithPrompt bool
		}
	}
	vectors.Read(t, "projection_limits.json", &v)
	if len(v.MaxChars) == 0 || len(v.ReserveTokens) == 0 || len(v.Projected) == 0 {
		t.Fatal("no cases")
	}
	var w *assembled
	w = newAssembled(t, "", one(&w))
	w.initialize(nil)
	n := 0
	// chars returns the maximum number of history characters for a thread under an engine.
	chars := func(engine map[string]any) (int, error) {
		n++
		key := fmt.Sprint("s", n)
		engine["id"] = "eng"
		if _, err := w.call("thread/start", map[string]any{"bridge": map[string]any{"sessionKey": key, "contextEngine": engine}}); err != nil {
			return 0, err
		}
		s, err := w.record.store(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		kept, _, err := s.BindingBySession(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		var record struct {
			ContextEngine struct{ PolicyFingerprint string }
		}
		var policy struct{ ProjectionMaxChars int }
		if err := json.Unmarshal([]byte(kept.Record), &record); err != nil {
			t.Fatal(err)
		}
		text := record.ContextEngine.PolicyFingerprint
		err = json.Unmarshal([]byte(text[strings.IndexByte(text, '{'):]), &policy)
		return policy.ProjectionMaxChars, err
	}
	for _, c := range v.MaxChars {
		engine := map[string]any{"contextTokenBudget": c.ContextTokenBudget, "reserveTokens": c.ReserveTokens, "reserveTokensFloor": 0}
		if c.ReserveTokens == nil {
			delete(engine, "reserveTokensFloor")
		}
		got, err := chars(engine)
		if _, isText := c.ContextTokenBudget.(string); isText { // see DEVIATIONS.md
			if err == nil {
				t.Errorf("%v: %d characters, want an error", engine, got)
			}
			continue
		}
		if err != nil || got != c.MaxChars {
			t.Errorf("%v: %d characters, %v; want %d", engine, got, err, c.MaxChars)
		}
	}
	for _, c := range v.ReserveTokens {
		const window, usual = 200_000, 20_000
		engine := map[string]any{"contextTokenBudget": window}
		for name, value := range c.Compaction {
			engine[name] = value
		}
		want := usual
		if c.Reserve != nil {
			want = *c.Reserve
		}
		got, err := chars(engine)
		if reserve := window - got/4; err != nil || reserve != want {
			t.Errorf("%v: the reserve is %d, %v; want %d", c.Compaction, reserve, err, want)
		}
	}
	for _, c := range v.Projected {
		w.takeRequests()
		w.must("bridge/turn/run", map[string]any{"sessionKey": c.Name, "input": c.Prompt, "history": c.Messages})
		w.must("bridge/turn/run", map[string]any{"sessionKey": c.Name, "input": c.Prompt, "history": c.Messages})
		var told []string
		for _, r := range withMethod(w.takeRequests(), "turn/start") {
			told = append(told, r.Params["input"].([]any)[0].(map[string]any)["text"].(string))
		}
		if len(told) != 2 || told[1] != c.Prompt {
			t.Fatalf("%s: got %q", c.Name, told)
		}
		if c.ContextBlock == nil && told[0] != c.Prompt || c.ContextBlock != nil && !strings.Contains(told[0], "\n"+*c.ContextBlock+"\n") ||
			strings.HasSuffix(told[0], c.Prompt) != c.EndsWithPrompt {
			t.Errorf("%s: got %q", c.Name, told[0])
		}
	}
}
