package handlers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"codex-bridge/bridge/bridgetest/vectors"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/relay/handlers"
	"codex-bridge/relay/hook"
)

type vector struct {
	Name       string
	Event      string
	Payload    json.RawMessage
	Hooks      []struct{ Returns json.RawMessage }
	Permission string          `json:"permissionDecision"`
	Call       json.RawMessage // to the wrong place: what answers hooks never sees it
	Result     json.RawMessage
}

// other returns the bridge's answer where it differs from the vector's: see testdata/vectors/DEVIATIONS.md.
func (v vector) other(t *testing.T) (answer hook.Answer, differs bool) {
	if hook.Event(v.Event) == hook.PreToolUse {
		for _, h := range v.Hooks { // a hook of the client may rewrite the input
			var returns struct{ Params json.RawMessage }
			var payload struct {
				Input json.RawMessage `json:"tool_input"`
			}
			if json.Unmarshal(h.Returns, &returns) != nil || json.Unmarshal(v.Payload, &payload) != nil || returns.Params == nil {
				continue
			}
			if input := compacted(t, returns.Params); !bytes.Equal(input, compacted(t, payload.Input)) {
				return hook.Answer{Input: input}, true
			}
		}
	}
	failed := v.Permission == "throw"
	lasting := v.Permission == "allow-always" // an answer to a hook holds once
	var result struct{ Error string }
	tooLarge := json.Unmarshal(v.Result, &result) == nil && result.Error != ""
	return hook.Answer{Decision: hook.Deny, Reason: "<text>"}, failed || lasting || tooLarge
}

func compacted(t *testing.T, text json.RawMessage) json.RawMessage {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestHookRelayVectorsCases(t *testing.T) {
	var all struct{ Cases []vector }
	vectors.Read(t, "hook_relay.json", &all)
	if len(all.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, v := range all.Cases {
		if v.Call != nil {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			c := handlers.New(handlers.Options{Hooks: hooks(), Client: v.client(t)})
			event := hook.Event(strings.Replace(v.Event, "before_agent_finalize", "stop", 1))
			wants := v.wants(t)
			payloads := v.payloads(t, len(wants))
			for i, want := range wants {
				if o, differs := v.other(t); differs {
					want = o
				}
				text, err := json.Marshal(payloads[i])
				if err != nil {
					t.Fatal(err)
				}
				call, err := hook.ParseCall(event, text)
				got := hook.Failed(event, fmt.Sprint(err)) // as the relay answers what it can't read
				if err == nil {
					got = c.Answer(t.Context(), call)
				}
				if want.Reason == "<text>" && got.Reason != "" {
					want.Reason = got.Reason
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("call %d of %d: %s", i+1, len(wants), diff)
				}
			}
		})
	}
}

// client says what the vector's plugin or approval route did.
func (v vector) client(t *testing.T) client {
	answer, fails := map[string]any{}, v.Permission == "throw"
	if v.Permission != "" {
		answer["decision"] = v.Permission
	}
	for _, h := range v.Hooks {
		var said any
		if err := json.Unmarshal(h.Returns, &said); err != nil {
			t.Fatal(err)
		}
		if said == "<function>" {
			fails = true
		}
		members, _ := said.(map[string]any)
		for name, value := range members {
			switch name {
			case "block":
				answer["decision"] = "deny"
			case "blockReason":
				answer["reason"] = value
			case "params":
				answer["input"] = value
			case "action":
				if word := map[any]string{"revise": "revise", "finalize": "finish"}[value]; word != "" {
					answer["decision"] = word
				}
			default:
				answer[name] = value
			}
		}
	}
	return func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		if fails {
			return nil, errors.New("it failed")
		}
		return json.Marshal(answer)
	}
}

func (v vector) payloads(t *testing.T, n int) []any {
	var payload any
	if err := json.Unmarshal(v.Payload, &payload); err != nil {
		t.Fatal(err)
	}
	if payload == "<large>" {
		payload = map[string]any{"tool_input": map[string]any{"command": strings.Repeat("x", 1_000_001)}}
	}
	if list, ok := payload.([]any); ok {
		return list
	}
	var same []any
	for range n {
		same = append(same, payload)
	}
	return same
}

// wants reads what the vector's hook process printed.
func (v vector) wants(t *testing.T) (all []hook.Answer) {
	type result struct{ Stdout string }
	var results []result
	if err := json.Unmarshal(v.Result, &results); err != nil {
		results = make([]result, 1)
		if err := json.Unmarshal(v.Result, &results[0]); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range results {
		var out struct {
			Decision, Reason, StopReason string
			Continue                     *bool
			HookSpecificOutput           struct {
				PermissionDecision, PermissionDecisionReason string
				Decision                                     struct{ Behavior, Message string }
			}
		}
		if r.Stdout != "" {
			if err := json.Unmarshal([]byte(r.Stdout), &out); err != nil {
				t.Fatal(err)
			}
		}
		s := out.HookSpecificOutput
		want := hook.Answer{Reason: out.Reason + out.StopReason + s.PermissionDecisionReason + s.Decision.Message}
		switch {
		case out.Decision == "block":
			want.Decision = hook.Revise
		case out.Continue != nil:
			want.Decision = hook.Finish
		default:
			want.Decision = hook.Decision(s.PermissionDecision + s.Decision.Behavior)
		}
		all = append(all, want)
	}
	return all
}
