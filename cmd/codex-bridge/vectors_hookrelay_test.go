//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/relay/hook"
)

type hookCase struct {
	Name       string
	Event      string
	Payload    json.RawMessage
	Hooks      []struct{ Returns json.RawMessage }
	Permission string          `json:"permissionDecision"`
	Call       json.RawMessage // to another socket: the handlers of hooks don't see it
	Result     json.RawMessage
}

// other returns the bridge's answer if it differs from the vector's: see DEVIATIONS.md.
func (c hookCase) other(t *testing.T) (answer hook.Answer, differs bool) {
	if hook.Event(c.Event) == hook.PreToolUse {
		for _, h := range c.Hooks { // a hook of the client may rewrite the input
			var returns struct{ Params json.RawMessage }
			var payload struct {
				Input json.RawMessage `json:"tool_input"`
			}
			if json.Unmarshal(h.Returns, &returns) != nil || json.Unmarshal(c.Payload, &payload) != nil || returns.Params == nil {
				continue
			}
			if input := compact(t, returns.Params); !bytes.Equal(input, compact(t, payload.Input)) {
				return hook.Answer{Input: input}, true
			}
		}
	}
	var input map[string]json.RawMessage
	if json.Unmarshal(c.Payload, &input) == nil && hook.Event(c.Event) == hook.PreToolUse && input["tool_input"] == nil { // the bridge can't judge a missing input
		return hook.Answer{Decision: hook.Deny, Reason: "<text>"}, true
	}
	lasting := c.Permission == "allow-always" // an answer to a hook counts once
	var result struct{ Error string }
	tooLarge := json.Unmarshal(c.Result, &result) == nil && result.Error != ""
	return hook.Answer{Decision: hook.Deny, Reason: "<text>"}, c.Permission == "throw" || lasting || tooLarge
}

// client returns the response of the client: the decision of the vector's plugin or approval route.
func (c hookCase) client(t *testing.T) func() (any, error) {
	answer, fails := map[string]any{}, c.Permission == "throw"
	if c.Permission != "" {
		answer["decision"] = c.Permission
	}
	for _, h := range c.Hooks {
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
	return func() (any, error) {
		if fails {
			return nil, errors.New("it failed")
		}
		return answer, nil
	}
}

func (c hookCase) payloads(t *testing.T, n int) (all []any) {
	var payload any
	if err := json.Unmarshal(c.Payload, &payload); err != nil {
		t.Fatal(err)
	}
	if payload == "<large>" {
		payload = map[string]any{"tool_input": map[string]any{"command": strings.Repeat("x", 1_000_001)}}
	}
	if list, ok := payload.([]any); ok {
		return list
	}
	for range n {
		all = append(all, payload)
	}
	return all
}

// answerOf parses the output of a hook process.
func answerOf(t *testing.T, stdout string) hook.Answer {
	t.Helper()
	var out struct {
		Decision, Reason, StopReason string
		Continue                     *bool
		HookSpecificOutput           struct {
			PermissionDecision, PermissionDecisionReason string
			UpdatedInput                                 json.RawMessage
			Decision                                     struct{ Behavior, Message string }
		}
	}
	if stdout != "" {
		if err := json.Unmarshal([]byte(stdout), &out); err != nil {
			t.Fatalf("%s: %v", stdout, err)
		}
	}
	s := out.HookSpecificOutput
	a := hook.Answer{Reason: out.Reason + out.StopReason + s.PermissionDecisionReason + s.Decision.Message}
	switch {
	case out.Decision == "block":
		a.Decision = hook.Revise
	case out.Continue != nil:
		a.Decision = hook.Finish
	case s.UpdatedInput != nil: // the call is allowed with it
		a.Input = s.UpdatedInput
	default:
		a.Decision = hook.Decision(s.PermissionDecision + s.Decision.Behavior)
	}
	return a
}

func TestHookRelayVectorsCases(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	eachCase(t, "hook_relay.json", "cases", func(t *testing.T, c hookCase) { c.play(t) },
		leftOut[hookCase]{"hook_relay.json `cases` | all with `call` (unknown event, unknown relay, another generation)", func(c hookCase) bool { return c.Call != nil }})
}

func (c hookCase) play(t *testing.T) {
	w := hooked(t, "[hooks]\n", "never", hook.Events()...)
	var results []printed
	if json.Unmarshal(c.Result, &results) != nil {
		results = make([]printed, 1)
		if err := json.Unmarshal(c.Result, &results[0]); err != nil {
			t.Fatal(err)
		}
	}
	payloads := c.payloads(t, len(results))
	for i, result := range results {
		want := answerOf(t, result.Stdout)
		if other, differs := c.other(t); differs {
			want = other
		}
		p := w.run(text(t, payloads[i]), c.client(t), "--socket", w.socket(), "--event", string(hookEvent(c.Event)), "--timeout", "30s")
		if string(p.ExitCode) != "0" {
			t.Errorf("it exits with %s: %s", p.ExitCode, p.Stderr)
		}
		got := answerOf(t, p.Stdout)
		if want.Reason == "<text>" && got.Reason != "" {
			want.Reason = got.Reason
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("call %d of %d: %s", i+1, len(results), diff)
		}
	}
}

// same compares values; "<text>" matches any text that is not blank.
func (p printed) same(t *testing.T, got printed) {
	t.Helper()
	for name, pair := range map[string][2]string{"stdout": {p.Stdout, got.Stdout}, "stderr": {p.Stderr, got.Stderr}} {
		head, tail, masked := strings.Cut(pair[0], "<text>")
		inside, ok := strings.CutPrefix(pair[1], head)
		if ok {
			inside, ok = strings.CutSuffix(inside, tail)
		}
		if !ok || masked != (strings.TrimSpace(inside) != "") {
			t.Errorf("%s is %q, want %q", name, pair[1], pair[0])
		}
	}
	if string(got.ExitCode) != "0" {
		t.Errorf("it exits with %s", got.ExitCode)
	}
}

// always returns a payload with the members that Codex always sends.
func always(e hook.Event) string {
	return fmt.Sprintf(`{"hook_event_name":%q,"session_id":"x","turn_id":"t","tool_name":"Bash","tool_use_id":"c","tool_input":{"command":"ls"}}`, e.Name())
}

func TestHookRelayVectorsUnavailable(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	type unavailable struct {
		Event    string
		Response printed
	}
	eachCase(t, "hook_relay.json", "unavailable", func(t *testing.T, c unavailable) {
		event := hookEvent(c.Event)
		got := runHook(t, always(event), "--socket", filepath.Join(t.TempDir(), "gone.sock"), "--event", string(event), "--timeout", "30s")
		if got.Stderr == "" {
			t.Errorf("%s: stderr has no reason", c.Event)
		}
		got.Stderr = "" // the vector is the library's answer, without stderr
		c.Response.same(t, got)
	})
}

type hookCLICase struct {
	printed
	Name  string
	Stdin string
	Opts  struct {
		RelayID        *string
		Event, Timeout string
	}
}

// denial returns a part of the reason of a denial if the other process exits with 1 or throws, and
// Codex runs the tool; "" if there is none. See DEVIATIONS.md.
func (c hookCLICase) denial() string {
	_, err := time.ParseDuration(c.Opts.Timeout)
	_, number := strconv.Atoi(c.Opts.Timeout)
	switch {
	case !json.Valid([]byte(c.Stdin)):
		return "can't be read"
	case c.Opts.RelayID != nil && *c.Opts.RelayID == "":
		return "--socket"
	case c.Opts.Timeout != "" && err != nil && number != nil:
		return "--timeout"
	}
	return ""
}

func TestHookRelayVectorsCLI(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	eachCase(t, "hook_relay.json", "cli", func(t *testing.T, c hookCLICase) {
		w := hooked(t, "[hooks]\n", "never", hook.Events()...)
		event, timeout := hook.PreToolUse, c.Opts.Timeout
		if c.Opts.Event != "" {
			event = hookEvent(c.Opts.Event)
		}
		socket := w.socket()
		if id := c.Opts.RelayID; id != nil && *id == "" {
			socket = ""
		} else if id != nil {
			socket = filepath.Join(t.TempDir(), *id)
		}
		if timeout == "" {
			timeout = "30s"
		} else if strings.Trim(timeout, "0123456789") == "" {
			timeout += "ms" // the other process takes milliseconds
		}
		stdin := c.Stdin
		if stdin == "{}" { // Codex always names the tool
			stdin = always(event)
		}
		got := w.run(stdin, func() (any, error) {
			return map[string]any{"decision": "deny", "reason": "via bridge"}, nil
		}, "--socket", socket, "--event", string(event), "--timeout", timeout)
		if word := c.denial(); word != "" {
			a := answerOf(t, got.Stdout)
			if string(c.ExitCode) == "0" || string(got.ExitCode) != "0" || a.Decision != hook.Deny || !strings.Contains(a.Reason, word) || !strings.Contains(got.Stderr, word) {
				t.Errorf("%+v, want a denial with %q", got, word)
			}
			return
		}
		if strings.HasSuffix(c.Opts.Timeout, "ms") { // a valid duration for the bridge, but not for the other process
			c.Stdout = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"via bridge"}}` + "\n"
			c.Stderr, c.ExitCode = "", json.RawMessage("0")
		}
		if string(c.ExitCode) != "0" {
			t.Errorf("the vector exits with %s", c.ExitCode)
		}
		c.same(t, got)
	})
}
