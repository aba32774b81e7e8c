//go:build unix

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// one answers as a Codex with one thread per start and turns that end at once.
func one(w **assembled) func(request) (any, string) {
	threads := 0
	return func(r request) (any, string) {
		switch r.Method {
		case "thread/start":
			threads++
			return map[string]any{"thread": map[string]any{"id": fmt.Sprint("T", threads)}, "cwd": "/w", "model": r.Params["model"]}, ""
		case "turn/start":
			return (*w).turnResponse(r.Params["threadId"].(string), "t", "done"), ""
		}
		return map[string]any{}, ""
	}
}

func TestReasoningEffortVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	type effort struct {
		ThinkLevel, Effort *string
		Model              string
	}
	type mode struct {
		Trigger, Mode, Model string
		ReasoningEffort      string  `json:"reasoning_effort"`
		Instructions         *string `json:"developer_instructions"`
	}
	// run returns the parameters of a turn with this effort in a new thread of the model.
	run := func(t *testing.T, model, effort, trigger string) map[string]any {
		var w *assembled
		w = newAssembled(t, "", one(&w))
		w.initialize(nil)
		id, _ := w.must("thread/start", map[string]any{"model": model}).Get("thread").Get("id").Text()
		if effort != "" {
			w.must("bridge/turn/set", map[string]any{"threadId": id, "effort": effort})
		}
		w.takeRequests()
		w.must("bridge/turn/run", map[string]any{"threadId": id, "input": "hi", "trigger": trigger})
		return withMethod(w.takeRequests(), "turn/start")[0].Params
	}
	settings := func(p map[string]any) map[string]any {
		mode, _ := p["collaborationMode"].(map[string]any)
		of, _ := mode["settings"].(map[string]any)
		return of
	}
	eachCase(t, "reasoning_effort.json", "cases", func(t *testing.T, c effort) {
		level := ""
		if c.ThinkLevel != nil {
			level = *c.ThinkLevel
		}
		var want any
		if c.Effort != nil {
			want = *c.Effort
		}
		if level == "max" || level == "ultra" { // see DEVIATIONS.md
			want = level
		}
		if level == "minimal" && isRefusingMinimal(c.Model) { // see DEVIATIONS.md
			want = "low"
		}
		p := run(t, c.Model, level, "user")
		if mode := settings(p); p["effort"] != want || mode != nil && mode["reasoning_effort"] != want {
			t.Errorf("%q of %q is %v in %v, want %v", level, c.Model, p["effort"], mode, want)
		}
	})
	eachCase(t, "reasoning_effort.json", "collaborationMode", func(t *testing.T, c mode) {
		p := run(t, c.Model, c.ReasoningEffort, c.Trigger)
		mode := p["collaborationMode"].(map[string]any)
		of := settings(p)
		words, _ := of["developer_instructions"].(string)
		if mode["mode"] != c.Mode || of["model"] != c.Model || of["reasoning_effort"] != c.ReasoningEffort || (words != "") != (c.Instructions != nil) {
			t.Errorf("the mode of a %s turn is %v", c.Trigger, mode)
		}
	})
}

// isRefusingMinimal reports whether the model is one that another version of the other
// implementation sends no minimal.
func isRefusingMinimal(model string) bool {
	return strings.EqualFold(strings.TrimSpace(model), "gpt-5.2")
}

func TestConversationInputVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	type list []string
	type media struct {
		Metadata struct {
			MediaPath, MediaURL, MediaType    string
			MediaPaths, MediaURLs, MediaTypes list
		}
		Input []any
	}
	eachCase(t, "conversation_input.json", "cases", func(t *testing.T, c media) {
		var w *assembled
		w = newAssembled(t, "", one(&w))
		w.initialize(nil)
		id, _ := w.must("thread/start", map[string]any{}).Get("thread").Get("id").Text()
		// The files of a chat message become a list: see DEVIATIONS.md.
		m := c.Metadata
		paths, urls := m.MediaPaths, m.MediaURLs
		if m.MediaPath != "" {
			paths = append(paths, m.MediaPath)
		}
		if m.MediaURL != "" {
			urls = append(urls, m.MediaURL)
		}
		at := func(l list, i int) string {
			if i < len(l) {
				return l[i]
			}
			return ""
		}
		input := []any{map[string]any{"type": "text", "text": "hi"}}
		if first, ok := c.Input[0].(map[string]any); ok && first["type"] == "text" {
			input[0] = map[string]any{"type": "text", "text": first["text"]}
		}
		for i := range max(len(paths), len(urls)) {
			file := map[string]any{"type": "media"}
			for name, text := range map[string]string{"path": at(paths, i), "url": at(urls, i), "mime": at(m.MediaTypes, i)} {
				if name == "mime" && text == "" {
					text = m.MediaType
				}
				if text != "" {
					file[name] = text
				}
			}
			input = append(input, file)
		}
		w.takeRequests()
		w.must("bridge/turn/run", map[string]any{"threadId": id, "input": input})
		if diff := cmp.Diff(any(c.Input), withMethod(w.takeRequests(), "turn/start")[0].Params["input"]); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", m, diff)
		}
	})
}

func TestSandboxPolicyVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	type sandbox struct {
		Mode, Cwd string
		Policy    map[string]any
	}
	type tier struct{ In, Out *string }
	opened := func(t *testing.T, cwd string) *assembled {
		var w *assembled
		w = newAssembled(t, "", func(r request) (any, string) {
			if r.Method == "turn/start" {
				return w.turnResponse("T", "t", "done"), ""
			}
			return map[string]any{"thread": map[string]any{"id": "T"}, "cwd": r.Params["cwd"], "model": "m"}, ""
		})
		w.initialize(nil)
		w.must("thread/start", map[string]any{"cwd": cwd})
		return w
	}
	turn := func(w *assembled) map[string]any {
		w.takeRequests()
		w.must("bridge/turn/run", map[string]any{"threadId": "T", "input": "hi"})
		return withMethod(w.takeRequests(), "turn/start")[0].Params
	}
	eachCase(t, "sandbox_policy_for_turn.json", "cases", func(t *testing.T, c sandbox) {
		w := opened(t, c.Cwd)
		w.must("bridge/turn/set", map[string]any{"threadId": "T", "sandbox": c.Mode})
		if diff := cmp.Diff(any(c.Policy), turn(w)["sandboxPolicy"]); diff != "" {
			t.Errorf("%s in %s (-want +got):\n%s", c.Mode, c.Cwd, diff)
		}
	})
	eachCase(t, "sandbox_policy_for_turn.json", "serviceTier", func(t *testing.T, c tier) {
		w := opened(t, "/w")
		if c.In == nil { // nothing to set
			if got := turn(w)["serviceTier"]; got != nil || c.Out != nil {
				t.Errorf("the tier is %v", got)
			}
			w.must("bridge/turn/set", map[string]any{"threadId": "T", "serviceTier": nil})
			if got, sent := turn(w)["serviceTier"]; !sent || got != nil {
				t.Errorf("no tier became %v, sent %t", got, sent)
			}
			return
		}
		_, err := w.call("bridge/turn/set", map[string]any{"threadId": "T", "serviceTier": *c.In})
		var want any
		if c.Out != nil {
			want = *c.Out
		}
		if got := turn(w)["serviceTier"]; got != want || (err != nil) != (c.Out == nil) {
			t.Errorf("tier %q became %v, want %v (%v)", *c.In, got, want, err)
		}
	})
}

func TestProviderVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	eachCase(t, "session_binding.json", "nativeAuthProfile", func(t *testing.T, c authProfile) { c.play(t) },
		leftOut[authProfile]{"session_binding.json `nativeAuthProfile` | native is true", func(c authProfile) bool { return c.Native }})
}

type authProfile struct {
	Native          bool
	Normalized      []struct{ In, Out *string }
	RequestProvider []struct{ In, SeedOut *string }
}

func (c authProfile) play(t *testing.T) {
	// start starts a thread of a session for a client that requests a provider, under a Codex that
	// names another one.
	start := func(provider, said *string) (asked any, bound string) {
		const key = "s"
		w := newAssembled(t, "", func(request) (any, string) {
			return map[string]any{"thread": map[string]any{"id": "T"}, "cwd": "/w", "model": "m", "modelProvider": said}, ""
		})
		w.initialize(nil)
		p := map[string]any{"bridge": map[string]any{"sessionKey": key}}
		if provider != nil {
			p["modelProvider"] = *provider
		}
		w.must("thread/start", p)
		bound, _ = w.must("bridge/binding/read", map[string]any{"sessionKey": key}).Get("binding").Get("modelProvider").Text()
		return withMethod(w.takeRequests(), "thread/start")[0].Params["modelProvider"], bound
	}
	for _, p := range c.RequestProvider {
		var want any
		if p.SeedOut != nil {
			want = *p.SeedOut
		}
		if got, _ := start(p.In, nil); got != want {
			t.Errorf("the request has provider %v, want %v", got, want)
		}
	}
	for _, p := range c.Normalized {
		want := ""
		if p.Out != nil {
			want = *p.Out
		}
		if _, got := start(nil, p.In); got != want {
			t.Errorf("the binding has provider %q, want %q", got, want)
		}
	}
}
