//go:build unix

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/store"
	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/rpc"
)

// boundTo has the fields of a binding that vectors compare.
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

// The members that the bridge does not send, and those that it adds; see DEVIATIONS.md.
var (
	theirs = []string{"personality", "experimentalRawEvents", "persistExtendedHistory", "developerInstructions", "approvalsReviewer"}
	ours   = []string{"collaborationMode", "clientUserMessageId", "serviceName"}
)

// hosts reports whether a case is about a chat instead of the bridge.
func (c conversation) hosts() bool {
	return c.Input.Data != nil || c.Input.Event.CommandAuthorized != nil
}

// own returns the session's own settings. The bridge sends no others.
func (c conversation) own() boundTo {
	b := c.Input.Binding
	if s := c.Input.Start; s != nil {
		b = boundTo{Cwd: s.WorkspaceDir, Model: s.Model, ModelProvider: s.ModelProvider, ApprovalPolicy: s.ApprovalPolicy, Sandbox: s.Sandbox}
	}
	if b.Cwd == "" {
		b.Cwd = cmp.Or(c.Input.PluginConfig.AppServer.DefaultWorkspaceDir, c.requested("thread/start", "cwd"), "/wd")
	}
	return b
}

// requested returns a text in the first request with this method.
func (c conversation) requested(method, member string) string {
	for _, r := range withMethod(c.Requests, method) {
		text, _ := r.Params[member].(string)
		return text
	}
	return ""
}

// input returns the client's message: that of the event, or else of the first turn.
func (c conversation) input() string {
	switch e := c.Input.Event; {
	case e.BodyForAgent != nil:
		return strings.TrimSpace(*e.BodyForAgent)
	case e.Content != nil:
		return *e.Content
	}
	for _, r := range withMethod(c.Requests, "turn/start") {
		items, _ := r.Params["input"].([]any)
		for _, item := range items {
			if item, ok := item.(map[string]any); ok && item["type"] == "text" {
				return fmt.Sprint(item["text"])
			}
		}
	}
	return "hi"
}

// model returns the text of the model: that of the case, or else of the reply.
func (c conversation) model() string {
	if c.Input.Reply != nil {
		return *c.Input.Reply
	}
	var want struct{ Reply struct{ Text string } }
	if json.Unmarshal(c.Result, &want) != nil || strings.HasPrefix(want.Reply.Text, "<") {
		return "hello"
	}
	return cmp.Or(want.Reply.Text, "hello")
}

// started returns what Codex says of a new thread: what the session is bound to at the end.
func (c conversation) started() map[string]any {
	b := boundTo{ThreadID: "new-th", Cwd: "/srv", Model: "mm", ModelProvider: "openai"}
	if len(withMethod(c.Requests, "thread/start")) > 0 && c.BindingAfter != nil {
		b = *c.BindingAfter
	}
	return map[string]any{"thread": map[string]any{"id": b.ThreadID}, "cwd": b.Cwd, "model": b.Model, "modelProvider": b.ModelProvider}
}

func TestConversationBindingVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	eachCase(t, "conversation_binding.json", "cases", func(t *testing.T, c conversation) { c.play(t) },
		leftOut[conversation]{"conversation_binding.json | data that is not of a session, commandAuthorized", conversation.hosts})
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
		case "config/read": // a new thread in place of another trusts no project
			trusted := map[string]any{in.Binding.Cwd: map[string]any{"trust_level": "trusted"}}
			layer := map[string]any{"name": map[string]any{"type": "user"}, "config": map[string]any{"projects": trusted}}
			return map[string]any{"config": map[string]any{}, "layers": []any{layer}}, ""
		case "thread/start":
			return c.started(), ""
		case "turn/interrupt":
			w.notify(map[string]any{"method": "turn/completed", "params": map[string]any{"threadId": thread, "turn": map[string]any{"id": "tu", "status": "interrupted", "items": []any{}}}})
			return map[string]any{}, ""
		case "turn/start":
			if len(errs) > 0 {
				failed := errs[0]
				errs = errs[1:]
				return nil, failed
			}
			return responseThen{map[string]any{"turn": map[string]any{"id": "tu"}}, func() {
				if in.Notify != nil {
					return // no input
				}
				go func() { // the answers come on this goroutine
					for i, method := range in.ServerRequests {
						if answered(method) {
							replies[method] = w.askClient(fmt.Sprint("s", i), method, map[string]any{"threadId": thread, "turnId": "tu", "itemId": "i", "callId": "i"})
						}
					}
					w.endTurn(thread, "tu", c.model())
				}()
			}}, ""
		}
		return map[string]any{}, ""
	})
	w.initialize(map[string]any{"approvals": false})
	own := c.own()
	if in.Start == nil && own.ThreadID != "" {
		w.bind(own)
	}
	text := c.input()
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
	c.compare(t, w.takeRequests())
	if c.BindingAfter != nil {
		c.after(t, w)
	}
	for _, s := range c.ServerReplies {
		if answered(s.Method) {
			c.answer(t, s.Method, s.Reply, replies[s.Method])
		}
	}
}

// starts returns the requests turn/start that Codex received.
func (w *assembled) starts() []request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return withMethod(w.requests, "turn/start")
}

// answered reports whether the bridge answers a request of Codex for a client that answers no
// approvals. The client answers tools and requests that Codex does not have.
func answered(method string) bool {
	return method != "item/tool/call" && method != "foo/requestApproval" && method != "item/tool/requestUserInput"
}

func refusedToStart(t *testing.T) {
	t.Helper()
	if _, err := loadText(t, "[policy]\nsecurity = \"deny\"\n"); err == nil || !strings.Contains(err.Error(), "may not be run") {
		t.Errorf("the configuration is loaded: %v", err)
	}
}

// bind gives a thread to the session "s".
func (w *assembled) bind(to boundTo) {
	w.t.Helper()
	s, err := w.record.Store(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	b := binding.Binding{
		SessionFile: "s", ThreadID: to.ThreadID, Cwd: to.Cwd, Model: to.Model, ModelProvider: to.ModelProvider,
		ApprovalPolicy: to.ApprovalPolicy, Sandbox: to.Sandbox, ServiceTier: to.ServiceTier,
	}.Stamped(time.Now())
	err = s.PutBinding(context.Background(), store.Binding{Session: "s", Thread: to.ThreadID, Record: string(binding.Encode(b)), Updated: time.Now()})
	if err != nil {
		w.t.Fatal(err)
	}
}

// reply checks the result that the client received.
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
	case strings.HasSuffix(why, " timed out"): // see DEVIATIONS.md: the text differs
		var e *rpc.Error
		if !errors.As(err, &e) || e.Code != rpc.CodeDeadline || !strings.Contains(e.Message, "the turn timed out") {
			t.Errorf("%v; want %s", err, why)
		}
	case failed:
		if err == nil || !likeText("<text>"+why, "").MatchString(" "+err.Error()) {
			t.Errorf("%v; want %s", err, why)
		}
	case err != nil:
		t.Error(err)
	case c.Input.Start == nil && !isLike(want.Reply.Text, got):
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
		if c.Input.Config.Tools.Exec.Mode != "" && own.ApprovalPolicy != "" { // the session's own settings are narrower
			r.Params["approvalPolicy"], r.Params["sandbox"] = own.ApprovalPolicy, own.Sandbox
		}
		want = append(want, r)
	}
	have := []request{}
	for _, r := range got {
		switch {
		case r.Method != "thread/start" && r.Method != "turn/start":
			continue // the bridge first resumes a thread, and interrupts a turn that times out
		case r.Method == "turn/start" && c.Input.Start != nil:
			continue // a session starts its thread with its first turn
		}
		for _, name := range ours {
			delete(r.Params, name)
		}
		have = append(have, r)
	}
	if diff := gocmp.Diff(want, have, masked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// after checks the binding at the end.
func (c conversation) after(t *testing.T, w *assembled) {
	t.Helper()
	s, err := w.record.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept, _, err := s.BindingBySession(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	var got boundTo
	if err := json.Unmarshal([]byte(kept.Record), &got); err != nil {
		t.Fatal(err)
	}
	want, own := *c.BindingAfter, c.own()
	want.ApprovalPolicy, want.Sandbox = own.ApprovalPolicy, own.Sandbox // defaults are not bound
	if diff := gocmp.Diff(want, got, masked); diff != "" {
		t.Errorf("the binding (-want +got):\n%s", diff)
	}
}

// answer compares the response to a request of Codex. Reasons are not in its schema.
func (c conversation) answer(t *testing.T, method string, want, reply json.RawMessage) {
	t.Helper()
	var w any
	var g struct{ Result map[string]any }
	if err := errors.Join(json.Unmarshal(want, &w), json.Unmarshal(reply, &g)); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	if text, ok := w.(string); ok && strings.HasPrefix(text, "<undefined") { // usually declined
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
	if diff := gocmp.Diff(w, any(g.Result), masked); diff != "" {
		t.Errorf("%s (-want +got):\n%s", method, diff)
	}
}
