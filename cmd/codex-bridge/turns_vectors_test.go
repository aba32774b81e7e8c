//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/bridge/bridgetest/vectors"
	"codex-bridge/bridge/store"
	"codex-bridge/lifecycle/binding"
	"codex-bridge/rpc"
)

// one is the answer of a Codex with a thread for each start and turns that end at once.
func one(w **assembled) func(request) (any, string) {
	threads := 0
	return func(r request) (any, string) {
		switch r.Method {
		case "thread/start":
			threads++
			return map[string]any{"thread": map[string]any{"id": fmt.Sprint("T", threads)}, "cwd": "/w", "model": r.Params["model"]}, ""
		case "turn/start":
			return (*w).turn(r.Params["threadId"].(string), "t", "done"), ""
		}
		return map[string]any{}, ""
	}
}

func TestReasoningEffortVectors(t *testing.T) {
	if apart(t) {
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
	w.knows(nil)
	thread := func(model string) string {
		id, _ := w.must("thread/start", map[string]any{"model": model}).Get("thread").Get("id").Text()
		return id
	}
	run := func(id, trigger string) map[string]any {
		w.takes()
		w.must("bridge/turn/run", map[string]any{"threadId": id, "input": "hi", "trigger": trigger})
		return named(w.takes(), "turn/start")[0].Params
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
	if apart(t) {
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
	w.knows(nil)
	id, _ := w.must("thread/start", map[string]any{}).Get("thread").Get("id").Text()
	for _, c := range v.Cases {
		// What a chat says of a message's files becomes a list: see DEVIATIONS.md.
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
		w.takes()
		w.must("bridge/turn/run", map[string]any{"threadId": id, "input": input})
		if diff := cmp.Diff(any(c.Input), named(w.takes(), "turn/start")[0].Params["input"]); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", m, diff)
		}
	}
}

func TestSandboxPolicyVectors(t *testing.T) {
	if apart(t) {
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
			return w.turn("T", "t", "done"), ""
		}
		return map[string]any{"thread": map[string]any{"id": "T"}, "cwd": r.Params["cwd"], "model": "m"}, ""
	})
	w.knows(nil)
	turn := func() map[string]any {
		w.takes()
		w.must("bridge/turn/run", map[string]any{"threadId": "T", "input": "hi"})
		return named(w.takes(), "turn/start")[0].Params
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
			continue // there is nothing to set
		}
		_, err := w.call("bridge/turn/set", map[string]any{"threadId": "T", "serviceTier": *c.In})
		var want any
		if c.Out != nil {
			want = *c.Out
		}
		if got := turn()["serviceTier"]; got != want || (err != nil) != (c.Out == nil) {
			t.Errorf("the tier %q is sent as %v, want %v (%v)", *c.In, got, want, err)
		}
	}
}

func TestProviderVectors(t *testing.T) {
	if apart(t) {
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
	w.knows(nil)
	n := 0
	start := func(provider *string) (asked any, bound string) {
		n++
		key := fmt.Sprint("s", n)
		p := map[string]any{"bridge": map[string]any{"sessionKey": key}}
		if provider != nil {
			p["modelProvider"] = *provider
		}
		w.takes()
		w.must("thread/start", p)
		bound, _ = w.must("bridge/binding/read", map[string]any{"sessionKey": key}).Get("binding").Get("modelProvider").Text()
		return named(w.takes(), "thread/start")[0].Params["modelProvider"], bound
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
				t.Errorf("the request names the provider %v, want %v", got, want)
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
				t.Errorf("the binding has the provider %q, want %q", got, want)
			}
		}
	}
}

// boundTo are the fields of a binding that vectors compare.
type boundTo struct {
	ThreadID, Cwd, Model, ModelProvider, ApprovalPolicy, Sandbox, ServiceTier string
}

// conversation is a case of conversation_binding.json.
type conversation struct {
	Name  string
	Input struct {
		Data    json.RawMessage
		Binding boundTo
		Event   struct {
			Content, BodyForAgent *string
			CommandAuthorized     *bool
		}
		Reply      *string
		TurnErrors []string
		Notify     *[]json.RawMessage
		TimeoutMs  int
		Config     struct {
			Tools struct {
				Exec struct{ Mode, Security, Ask string }
			}
		}
		PluginConfig struct {
			AppServer struct{ Mode, ServiceTier, DefaultWorkspaceDir string }
		}
		ServerRequests []string
		Start          *struct{ WorkspaceDir, Model, ModelProvider, ApprovalPolicy, Sandbox string }
	}
	Result        json.RawMessage
	Requests      []request
	ServerReplies []struct {
		Method string
		Reply  json.RawMessage
	}
	BindingAfter *boundTo
}

// The members that the bridge does not send, and those that it sends besides; see
// DEVIATIONS.md.
var (
	theirs = []string{"personality", "experimentalRawEvents", "persistExtendedHistory", "developerInstructions", "approvalsReviewer"}
	ours   = []string{"collaborationMode", "clientUserMessageId", "serviceName"}
)

// hosts reports whether a case is about a chat, not about the bridge.
func (c conversation) hosts() bool {
	return c.Input.Data != nil || c.Input.Event.CommandAuthorized != nil
}

// own are the policies that the session itself has: what nobody has said is not sent.
func (c conversation) own() boundTo {
	b := c.Input.Binding
	if s := c.Input.Start; s != nil {
		b = boundTo{Cwd: s.WorkspaceDir, Model: s.Model, ModelProvider: s.ModelProvider, ApprovalPolicy: s.ApprovalPolicy, Sandbox: s.Sandbox}
	}
	if b.Cwd == "" {
		if b.Cwd = c.Input.PluginConfig.AppServer.DefaultWorkspaceDir; b.Cwd == "" {
			b.Cwd = "/wd"
		}
	}
	return b
}

func TestConversationBindingVectors(t *testing.T) {
	if apart(t) {
		return
	}
	var v struct{ Cases []conversation }
	vectors.Read(t, "conversation_binding.json", &v)
	if len(v.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range v.Cases {
		if c.hosts() {
			continue
		}
		t.Run(c.Name, func(t *testing.T) { c.play(t) })
	}
}

func (c conversation) play(t *testing.T) {
	in := c.Input
	if exec := in.Config.Tools.Exec; exec.Mode == "deny" || exec.Security == "deny" {
		refusedToStart(t)
		return
	}
	var w *assembled
	errs := in.TurnErrors
	replies := make(map[string]json.RawMessage)
	w = newAssembled(t, "", func(r request) (any, string) {
		thread, _ := r.Params["threadId"].(string)
		switch r.Method {
		case "thread/resume":
			if len(w.starts()) > 0 && len(in.TurnErrors) > 0 {
				return nil, "no rollout found for thread id " + thread
			}
			return map[string]any{"thread": map[string]any{"id": thread}, "cwd": in.Binding.Cwd, "model": in.Binding.Model}, ""
		case "thread/start":
			return map[string]any{"thread": map[string]any{"id": "new-th"}, "cwd": "/srv", "model": "mm", "modelProvider": "openai"}, ""
		case "turn/interrupt":
			return following{map[string]any{}, func() {
				w.tells(map[string]any{"method": "turn/completed", "params": map[string]any{"threadId": thread, "turn": map[string]any{"id": "tu", "status": "interrupted", "items": []any{}}}})
			}}, ""
		case "turn/start":
			if len(errs) > 0 {
				failed := errs[0]
				errs = errs[1:]
				return nil, failed
			}
			return following{map[string]any{"turn": map[string]any{"id": "tu"}}, func() {
				if in.Notify != nil {
					return // it says nothing
				}
				text := "hello"
				if in.Reply != nil {
					text = *in.Reply
				}
				go func() { // the answers come by the goroutine that is here
					for i, method := range in.ServerRequests {
						if answered(method) {
							replies[method] = w.asks(fmt.Sprint("s", i), method, map[string]any{"threadId": thread, "turnId": "tu", "itemId": "i", "callId": "i"})
						}
					}
					w.ends(thread, "tu", text)
				}()
			}}, ""
		}
		return map[string]any{}, ""
	})
	w.knows(map[string]any{"approvals": false})
	own := c.own()
	if in.Start == nil && own.ThreadID != "" {
		w.bind(own)
	}
	text := "hi"
	switch {
	case in.Event.BodyForAgent != nil:
		text = strings.TrimSpace(*in.Event.BodyForAgent)
	case in.Event.Content != nil:
		text = *in.Event.Content
	}
	p := map[string]any{"sessionKey": "s", "input": text}
	if in.TimeoutMs > 0 {
		p["timeoutMs"] = in.TimeoutMs
	}
	if own.ThreadID == "" {
		start := map[string]any{"cwd": own.Cwd}
		for name, value := range map[string]string{
			"model": own.Model, "modelProvider": own.ModelProvider, "approvalPolicy": own.ApprovalPolicy, "sandbox": own.Sandbox,
		} {
			if value != "" {
				start[name] = value
			}
		}
		p["thread"] = start
	}
	result, err := w.call("bridge/turn/run", p)
	c.reply(t, text, result, err)
	c.compare(t, w.takes())
	if c.BindingAfter != nil {
		c.after(t, w)
	}
	for _, s := range c.ServerReplies {
		if answered(s.Method) {
			c.answer(t, s.Method, s.Reply, replies[s.Method])
		}
	}
}

// starts are the turns that Codex was asked for.
func (w *assembled) starts() []request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return named(w.requests, "turn/start")
}

// answered reports whether the bridge answers a request of Codex's by itself, in the place of
// a client that answers no approvals. Tools and requests that Codex does not have are the
// client's.
func answered(method string) bool {
	return method != "item/tool/call" && method != "foo/requestApproval" && method != "item/tool/requestUserInput"
}

func refusedToStart(t *testing.T) {
	t.Helper()
	if _, err := loadText(t, "[policy]\nsecurity = \"deny\"\n"); err == nil || !strings.Contains(err.Error(), "may not be run") {
		t.Errorf("the configuration is loaded: %v", err)
	}
}

// bind gives the session "s" a thread.
func (w *assembled) bind(to boundTo) {
	w.t.Helper()
	s, err := w.record.store(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	b := binding.Binding{
		SessionFile: "s", ThreadID: to.ThreadID, Cwd: to.Cwd, Model: to.Model, ModelProvider: to.ModelProvider,
		ApprovalPolicy: to.ApprovalPolicy, Sandbox: to.Sandbox, ServiceTier: to.ServiceTier,
	}.Stamped(binding.Options{Now: time.Now()})
	err = s.PutBinding(context.Background(), store.Binding{Session: "s", Thread: to.ThreadID, Record: string(binding.Encode(b)), Updated: time.Now()})
	if err != nil {
		w.t.Fatal(err)
	}
}

// reply checks what the client was answered.
func (c conversation) reply(t *testing.T, input string, result rpc.Value, err error) {
	t.Helper()
	if strings.TrimSpace(input) == "" {
		var e *rpc.Error
		if !errors.As(err, &e) || e.Code != rpc.CodeInvalidParams {
			t.Errorf("a blank input: %v", err)
		}
		return
	}
	var want struct{ Reply struct{ Text string } }
	if err := json.Unmarshal(c.Result, &want); err != nil {
		t.Fatal(err)
	}
	got, _ := result.Get("text").Text()
	why, failed := strings.CutPrefix(want.Reply.Text, "<failure prefix>")
	switch {
	case failed && why == "<text>" && err != nil:
	case failed:
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v; want %s", err, why)
		}
	case err != nil:
		t.Error(err)
	case c.Input.Start == nil && got != want.Reply.Text:
		t.Errorf("the reply is %q, want %q", got, want.Reply.Text)
	}
}

// compare compares the requests.
func (c conversation) compare(t *testing.T, got []request) {
	t.Helper()
	own := c.own()
	unsaid := append([]string(nil), theirs...)
	for name, value := range map[string]string{"approvalPolicy": own.ApprovalPolicy, "sandbox": own.Sandbox, "sandboxPolicy": own.Sandbox, "serviceTier": own.ServiceTier} {
		if value == "" {
			unsaid = append(unsaid, name)
		}
	}
	want := []request{}
	for _, r := range c.Requests {
		r = request{r.Method, r.Params}
		for _, name := range unsaid {
			delete(r.Params, name)
		}
		if c.Input.Config.Tools.Exec.Mode != "" && own.ApprovalPolicy != "" { // the session's own are narrower
			r.Params["approvalPolicy"], r.Params["sandbox"] = own.ApprovalPolicy, own.Sandbox
		}
		want = append(want, r)
	}
	have := []request{}
	for _, r := range got {
		switch {
		case r.Method != "thread/start" && r.Method != "turn/start":
			continue // a thread is resumed before; a turn that takes too long is interrupted
		case r.Method == "turn/start" && c.Input.Start != nil:
			continue // a session starts its thread with its first turn
		}
		for _, name := range ours {
			delete(r.Params, name)
		}
		have = append(have, r)
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// after checks the binding that is left.
func (c conversation) after(t *testing.T, w *assembled) {
	t.Helper()
	s, err := w.record.store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept, _, err := s.BindingOf(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	var got boundTo
	if err := json.Unmarshal([]byte(kept.Record), &got); err != nil {
		t.Fatal(err)
	}
	want, own := *c.BindingAfter, c.own()
	want.ApprovalPolicy, want.Sandbox = own.ApprovalPolicy, own.Sandbox // what nobody has said is not bound
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the binding (-want +got):\n%s", diff)
	}
}

// answer compares the answer to a request of Codex's; reasons are no part of its schema.
func (c conversation) answer(t *testing.T, method string, want, reply json.RawMessage) {
	t.Helper()
	var w any
	var g struct{ Result map[string]any }
	if err := errors.Join(json.Unmarshal(want, &w), json.Unmarshal(reply, &g)); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	if w == "<undefined>" { // the usual: declined
		w = map[string]any{"action": "decline", "content": nil, "_meta": nil}
	}
	delete(w.(map[string]any), "reason")
	for name, v := range g.Result {
		if v == nil {
			delete(g.Result, name)
		}
	}
	for name, v := range w.(map[string]any) {
		if v == nil {
			delete(w.(map[string]any), name)
		}
	}
	if diff := cmp.Diff(w, any(g.Result)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", method, diff)
	}
}
