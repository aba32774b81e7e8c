package converse_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge/bridge/bridgetest/vectors"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/bridge/execpolicy"
	"codex-bridge/bridge/preset"
	"codex-bridge/lifecycle/binding"
	"codex-bridge/lifecycle/converse"
	"codex-bridge/lifecycle/params"
	"codex-bridge/lifecycle/turn"
	"codex-bridge/relay/answer"
	"codex-bridge/rpc"
)

type request struct {
	Method string
	Params map[string]any
}

// world is a Codex of one thread after another, and the one session there is.
type world struct {
	t      *testing.T
	bound  converse.Bound
	thread *turn.Thread

	turnErrors []string
	reply      string
	silent     bool // no turn ends

	requests []request
}

func (w *world) Ask(_ context.Context, method string, p any) (rpc.Value, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return rpc.Value{}, err
	}
	r := request{Method: method}
	if err := json.Unmarshal(raw, &r.Params); err != nil {
		return rpc.Value{}, err
	}
	w.requests = append(w.requests, r)
	switch method {
	case "thread/start":
		return w.value(`{"thread":{"id":"new-th"},"cwd":"/srv","model":"mm","modelProvider":"openai"}`), nil
	case "turn/interrupt":
		return w.value(`{}`), nil
	}
	if len(w.turnErrors) > 0 {
		text := w.turnErrors[0]
		w.turnErrors = w.turnErrors[1:]
		return rpc.Value{}, rpc.Errorf(rpc.CodeUpstream, "codex refused %s: %s", method, text)
	}
	if !w.silent {
		w.thread.Take(turn.Event{
			Kind: turn.Ended, Thread: w.thread.ID, Turn: "tu", Status: turn.Completed, Messages: []turn.Message{{Item: "a", Text: w.reply}},
		})
	}
	return w.value(`{"turn":{"id":"tu"}}`), nil
}

func (w *world) value(text string) rpc.Value {
	doc, err := rpc.ParseValue([]byte(text))
	if err != nil {
		w.t.Fatal(err)
	}
	return doc.Root()
}

func (w *world) Open(ctx context.Context, key string) (converse.Session, error) {
	if !w.bound.Binding.Bound() {
		return w.Replace(ctx, key)
	}
	w.thread = turn.NewThread(w.bound.Binding.ThreadID, w)
	bound := w.bound
	return converse.Session{Thread: w.thread, Turn: func(input []params.Item) (json.RawMessage, error) { return bound.Turn(input).Params() }}, nil
}

func (w *world) Replace(ctx context.Context, key string) (converse.Session, error) {
	start, err := w.bound.Start(params.Options{})
	if err != nil {
		return converse.Session{}, err
	}
	result, err := w.Ask(ctx, "thread/start", start)
	if err != nil {
		return converse.Session{}, err
	}
	w.bound.Binding = w.bound.Started(result)
	return w.Open(ctx, key)
}

// theirs are members that the bridge does not send, and ours those that it does besides.
var theirs, ours = []string{"personality", "experimentalRawEvents", "persistExtendedHistory", "developerInstructions"},
	[]string{"collaborationMode", "clientUserMessageId"}

func TestConversationBindingVectors(t *testing.T) {
	type bindingFields struct {
		ThreadID, Cwd, Model, ModelProvider, ApprovalPolicy, Sandbox, ServiceTier string
	}
	var v struct {
		Cases []struct {
			Name  string
			Input struct {
				Data    json.RawMessage
				Binding bindingFields
				Event   struct {
					Content, BodyForAgent *string
					CommandAuthorized     *bool
				}
				Reply      *string
				TurnErrors []string
				Notify     *[]json.RawMessage
				TimeoutMs  int
				Config     struct {
					Tools struct{ Exec execpolicy.Layer }
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
			BindingAfter *bindingFields
		}
	}
	vectors.Read(t, "conversation_binding.json", &v)
	if len(v.Cases) == 0 {
		t.Fatal("no cases")
	}
	ran := 0
	for _, c := range v.Cases {
		in := c.Input
		blank := in.Event.Content != nil && in.Event.BodyForAgent == nil
		if in.Data != nil || in.Event.CommandAuthorized != nil || blank {
			continue // a host's: see DEVIATIONS.md
		}
		ran++
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{t: t, reply: "hello", turnErrors: in.TurnErrors, silent: in.Notify != nil}
				if in.Reply != nil {
					w.reply = *in.Reply
				}
				b := in.Binding
				if in.Start != nil {
					s := in.Start
					b = bindingFields{Cwd: s.WorkspaceDir, Model: s.Model, ModelProvider: s.ModelProvider, ApprovalPolicy: s.ApprovalPolicy, Sandbox: s.Sandbox}
				}
				if b.Cwd == "" {
					if b.Cwd = in.PluginConfig.AppServer.DefaultWorkspaceDir; b.Cwd == "" {
						b.Cwd = "/wd"
					}
				}
				w.bound.Binding = binding.Binding{
					ThreadID: b.ThreadID, Cwd: b.Cwd, Model: b.Model, ModelProvider: b.ModelProvider, ApprovalPolicy: b.ApprovalPolicy,
					Sandbox: b.Sandbox, ServiceTier: b.ServiceTier,
				}
				exec := execpolicy.Resolve([]execpolicy.Layer{in.Config.Tools.Exec}, execpolicy.Layer{})
				w.bound.Touched = exec.Touched
				var reply struct{ Reply struct{ Text string } }
				if err := json.Unmarshal(c.Result, &reply); err != nil {
					t.Fatal(err)
				}
				var err error
				w.bound.Today, err = preset.Resolve(preset.Input{
					Config: preset.Settings{Preset: in.PluginConfig.AppServer.Mode, ServiceTier: in.PluginConfig.AppServer.ServiceTier}, Exec: exec,
				})
				got := converse.Result{}
				switch {
				case err != nil:
				case in.Start != nil:
					_, err = w.Replace(t.Context(), "s")
				default:
					text := "hi"
					if in.Event.BodyForAgent != nil {
						text = strings.TrimSpace(*in.Event.BodyForAgent)
					}
					got, err = converse.New(w).Run(t.Context(), "s", []params.Item{params.Text(text)}, time.Duration(in.TimeoutMs)*time.Millisecond)
				}
				why, failed := strings.CutPrefix(reply.Reply.Text, "<failure prefix>")
				switch {
				case failed || reply.Reply.Text == "<text>":
					if why == "<text>" {
						why = ""
					}
					if err == nil || !strings.Contains(err.Error(), why) {
						t.Errorf("%+v, %v; want %s", got, err, why)
					}
				case err != nil || got.Text != reply.Reply.Text:
					t.Errorf("%+v, %v", got, err)
				}
				w.compare(c.Requests)
				if c.BindingAfter != nil {
					a := w.bound.Binding
					after := bindingFields{a.ThreadID, a.Cwd, a.Model, a.ModelProvider, a.ApprovalPolicy, a.Sandbox, a.ServiceTier}
					if diff := cmp.Diff(*c.BindingAfter, after); diff != "" {
						t.Errorf("the binding (-want +got):\n%s", diff)
					}
				}
				for _, s := range c.ServerReplies {
					answered(t, s.Method, s.Reply)
				}
			})
		})
	}
	if ran < 13 {
		t.Errorf("%d cases were run", ran)
	}
}

func (w *world) compare(want []request) {
	w.t.Helper()
	got := w.requests
	if n := len(got); n > 0 && got[n-1].Method == "turn/interrupt" {
		got = got[:n-1] // ours, of a turn that took too long
	}
	for _, r := range want {
		for _, name := range theirs {
			delete(r.Params, name)
		}
	}
	for _, r := range got {
		for _, name := range ours {
			delete(r.Params, name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 {
		w.t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// answered compares what Codex is answered where nobody is there; reasons are no part of
// its schema.
func answered(t *testing.T, method string, want json.RawMessage) {
	t.Helper()
	doc, err := rpc.ParseValue([]byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	result, err := answer.Nobody(method, doc.Root())
	if method == "foo/requestApproval" {
		if err == nil {
			t.Errorf("%s is answered %s", method, result)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var w, g any
	if err := errors.Join(json.Unmarshal(want, &w), json.Unmarshal(result, &g)); err != nil {
		t.Fatal(err)
	}
	if w == "<undefined>" {
		return // whatever is usual: relay/answer has its own tests
	}
	for _, side := range []any{w, g} {
		o := side.(map[string]any)
		delete(o, "reason")
		delete(o, "contentItems")
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("%s (-want +got):\n%s", method, diff)
	}
}
