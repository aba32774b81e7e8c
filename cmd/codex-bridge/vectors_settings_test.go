//go:build unix

package main

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/bridgetest/vectors"
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
	var v struct {
		Cases []struct {
			ThinkLevel, Effort *string
			Model              string
		}
		CollaborationMode []struct {
			Trigger, Mode, Model string
			ReasoningEffort      string  `json:"reasoning_effort"`
			Instructions         *string `json:"developer_instructions"`
		}
	}
	vectors.Read(t, "reasoning_effort.json", &v)
	if len(v.Cases) == 0 || len(v.CollaborationMode) == 0 {
		t.Fatal("no cases")
	}
	var w *assembled
	w = newAssembled(t, "", one(&w))
	w.initialize(nil)
	thread := func(model string) string {
		id, _ := w.must("thread/start", map[string]any{"model": model}).Get("thread").Get("id").Text()
		return id
	}
	run := func(id, trigger string) map[string]any {
		w.takeRequests()
		w.must("bridge/turn/run", map[string]any{"threadId": id, "input": "hi", "trigger": trigger})
		return withMethod(w.takeRequests(), "turn/start")[0].Params
	}
	settings := func(p map[string]any) map[string]any {
		mode, _ := p["collaborationMode"].(map[string]any)
		of, _ := mode["settings"].(map[string]any)
		return of
	}
	for _, c := range v.Cases {
		id := thread(c.Model)
		level := ""
		if c.ThinkLevel != nil {
			level = *c.ThinkLevel
		}
		if level != "" {
			w.must("bridge/turn/set", map[string]any{"threadId": id, "effort": level})
		}
		var want any
		if c.Effort != nil {
			want = *c.Effort
		}
		if level == "max" || level == "ultra" { // see DEVIATIONS.md
			want = level
		}
		p := run(id, "user")
		if mode := settings(p); p["effort"] != want || mode != nil && mode["reasoning_effort"] != want {
			t.Errorf("%q of %q is %v in %v, want %v", level, c.Model, p["effort"], mode, want)
		}
	}
	for _, c := range v.CollaborationMode {
		id := thread(c.Model)
		w.must("bridge/turn/set", map[string]any{"threadId": id, "effort": c.ReasoningEffort})
		p := run(id, c.Trigger)
		mode := p["collaborationMode"].(map[string]any)
		of := settings(p)
		words, _ := of["developer_instructions"].(string)
		if mode["mode"] != c.Mode || of["model"] != c.Model || of["reasoning_effort"] != c.ReasoningEffort || (words != "") != (c.Instructions != nil) {
			t.Errorf("the mode of a %s turn is %v", c.Trigger, mode)
		}
	}
}

func TestConversationInputVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	type list []string
	var v struct {
		Cases []struct {
			Metadata struct {
				MediaPath, MediaURL, MediaType    string
				MediaPaths, MediaURLs, MediaTypes list
			}
			Input []any
		}
	}
	vectors.Read(t, "conversation_input.json", &v)
	if len(v.Cases) == 0 {
		t.Fatal("no cases")
	}
	var w *assembled
	w = newAssembled(t, "", one(&w))
	w.initialize(nil)
	id, _ := w.must("thread/start", map[string]any{}).Get("thread").Get("id").Text()
	for _, c := range v.Cases {
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
	}
}

func TestSandboxPolicyVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	var v struct {
		Cases []struct {
			Mode, Cwd string
			Policy    map[string]any
		}
		ServiceTier []struct{ In, Out *string }
	}
	vectors.Read(t, "sandbox_policy_for_turn.json", &v)
	if len(v.Cases) == 0 || len(v.ServiceTier) == 0 {
		t.Fatal("no cases")
	}
	var w *assembled
	w = newAssembled(t, "", func(r request) (any, string) {
		if r.Method == "turn/start" {
			return w.turnResponse("T", "t", "done"), ""
		}
		return map[string]any{"thread": map[string]any{"id": "T"}, "cwd": r.Params["cwd"], "model": "m"}, ""
	})
	w.initialize(nil)
	turn := func() map[string]any {
		w.takeRequests()
		w.must("bridge/turn/run", map[string]any{"threadId": "T", "input": "hi"})
		return withMethod(w.takeRequests(), "turn/start")[0].Params
	}
	for _, c := range v.Cases {
		w.must("thread/start", map[string]any{"cwd": c.Cwd})
		w.must("bridge/turn/set", map[string]any{"threadId": "T", "sandbox": c.Mode})
		if diff := cmp.Diff(any(c.Policy), turn()["sandboxPolicy"]); diff != "" {
			t.Errorf("%s in %s (-want +got):\n%s", c.Mode, c.Cwd, diff)
		}
	}
	for _, c := range v.ServiceTier {
		if c.In == nil {
			continue // nothing to set
		}
		_, err := w.call("bridge/turn/set", map[string]any{"threadId": "T", "serviceTier": *c.In})
		var want any
		if c.Out != nil {
			want = *c.Out
		}
		if got := turn()["serviceTier"]; got != want || (err != nil) != (c.Out == nil) {
			t.Errorf("tier %q became %v, want %v (%v)", *c.In, got, want, err)
		}
	}
}

func TestProviderVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	var v struct {
		NativeAuthProfile []struct {
			Native          bool
			Normalized      []struct{ In, Out *string }
			RequestProvider []struct{ In, SeedOut *string }
		}
	}
	vectors.Read(t, "session_binding.json", &v)
	if len(v.NativeAuthProfile) == 0 {
		t.Fatal("no cases")
	}
	var w *assembled
	said := map[string]any{"thread": map[string]any{"id": "T"}, "cwd": "/w", "model": "m"}
	w = newAssembled(t, "", func(request) (any, string) { return said, "" })
	w.initialize(nil)
	n := 0
	start := func(provider *string) (asked any, bound string) {
		n++
		key := fmt.Sprint("s", n)
		p := map[string]any{"bridge": map[string]any{"sessionKey": key}}
		if provider != nil {
			p["modelProvider"] = *provider
		}
		w.takeRequests()
		w.must("thread/start", p)
		bound, _ = w.must("bridge/binding/read", map[string]any{"sessionKey": key}).Get("binding").Get("modelProvider").Text()
		return withMethod(w.takeRequests(), "thread/start")[0].Params["modelProvider"], bound
	}
	for _, c := range v.NativeAuthProfile {
		if c.Native {
			continue // see DEVIATIONS.md
		}
		for _, p := range c.RequestProvider {
			var want any
			if p.SeedOut != nil {
				want = *p.SeedOut
			}
			if got, _ := start(p.In); got != want {
				t.Errorf("the request has provider %v, want %v", got, want)
			}
		}
		for _, p := range c.Normalized {
			want := ""
			if p.Out != nil {
				want = *p.Out
			}
			if said["modelProvider"] = nil; p.In != nil {
				said["modelProvider"] = *p.In
			}
			if _, got := start(nil); got != want {
				t.Errorf("the binding has provider %q, want %q", got, want)
			}
		}
	}
}
