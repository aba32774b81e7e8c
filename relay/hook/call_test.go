package hook_test

import (
	"encoding/json"
	"strings"
	"testing"

	oracle "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"codex-bridge.example/relay/hook"
)

func TestParseCall(t *testing.T) {
	const text = ` {"hook_event_name":"PreToolUse","session_id":"s","agent_id":"a","agent_type":"x","turn_id":"t","cwd":"/w","model":"m",
	"permission_mode":"default","transcript_path":"/r","tool_name":"Bash","tool_use_id":"c","tool_input":{"command":"\u00e9"},
	"tool_response":[1, 2],"stop_hook_active":true,"last_assistant_message":"done"} ` + "\n"
	got, err := hook.ParseCall(hook.PreToolUse, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := &hook.Call{
		Event: hook.PreToolUse, Payload: json.RawMessage(strings.TrimSpace(text)),
		SessionID: "s", AgentID: "a", TurnID: "t", Cwd: "/w", Model: "m", PermissionMode: "default", TranscriptPath: "/r",
		ToolName: "Bash", ToolUseID: "c", ToolInput: json.RawMessage(`{"command":"\u00e9"}`), ToolResponse: json.RawMessage(`[1, 2]`),
		StopHookActive: true, LastMessage: "done",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseCallBlank(t *testing.T) {
	for _, text := range []string{"", " \n\t"} {
		got, err := hook.ParseCall(hook.Stop, []byte(text))
		if diff := cmp.Diff(&hook.Call{Event: hook.Stop, Payload: json.RawMessage("{}")}, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
}

func TestParseCallDoesNotAlias(t *testing.T) {
	text := []byte(payload(hook.PreToolUse, "call-1"))
	call, err := hook.ParseCall(hook.PreToolUse, text)
	if err != nil {
		t.Fatal(err)
	}
	clear(text)
	if call.ToolUseID != "call-1" || string(call.ToolInput) != `{"command":"make"}` {
		t.Errorf("%+v", call)
	}
}

// withInput wraps a tool's input into a hook's input.
func withInput(input string) string {
	return `{"hook_event_name":"PreToolUse","tool_input":` + input + `}`
}

func TestParseCallLimits(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	full := func(n int) string { return withInput(`"` + strings.Repeat("x", n-len(withInput(`""`))) + `"`) }
	for _, c := range []struct {
		name, text, want string // want "": no error
	}{
		{"null", `null`, "null"},
		{"array", `[]`, "an array"},
		{"no JSON", `{nope`, "can't be read"},
		{"two", `{"hook_event_name":"PreToolUse"}{}`, "can't be read"},
		{"bad UTF-8", withInput("\"\xff\""), "can't be read"},
		{"name twice", `{"hook_event_name":"PreToolUse","tool_name":"a","tool_name":"b"}`, "can't be read"},
		{"name twice, escaped", withInput(`{"a":1,"\u0061":2}`), "can't be read"},
		{"other event", payload(hook.PostToolUse, "c"), "PostToolUse"},
		{"no event", `{}`, `""`},
		{"null for event", `{"hook_event_name":null}`, `""`},
		{"number for event", `{"hook_event_name":1}`, "a number"},
		{"number for a text", `{"hook_event_name":"PreToolUse","cwd":1}`, "cwd"},
		{"text for a truth", `{"hook_event_name":"PreToolUse","stop_hook_active":"yes"}`, "stop_hook_active"},
		{"null for a text", `{"hook_event_name":"PreToolUse","cwd":null,"stop_hook_active":null}`, ""},
		{"deep enough", withInput(nested(hook.MaxDepth - 1)), ""},
		{"too deep", withInput(nested(hook.MaxDepth)), "nested more than"},
		{"far too deep", withInput(nested(100_000)), "nested more than"},
		{"values enough", withInput("[" + strings.Repeat("1,", hook.MaxNodes-4) + "1]"), ""}, // and the object, the name, the array
		{"too many values", withInput("[" + strings.Repeat("1,", hook.MaxNodes-3) + "1]"), "values"},
		{"too long", full(hook.MaxPayload + 1), "longer than 4194304 bytes; split the patch"},
		{"blank and too long", strings.Repeat(" ", hook.MaxPayload+1), "longer than 4194304"},
		{"as long as can be", full(hook.MaxPayload), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			call, err := hook.ParseCall(hook.PreToolUse, []byte(c.text))
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || call != nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want one with %q", err, c.want)
			}
		})
	}
	if _, err := hook.ParseCall("session_start", []byte("{}")); err == nil {
		t.Error("an event that is none was read")
	}
}

// ParseCall accepts only what another strict parser reads the same way, of the right event
// and within the limits.
func FuzzParseCall(f *testing.F) {
	for i, e := range hook.Events() {
		f.Add(i, []byte(payload(e, "c")))
	}
	f.Add(0, []byte(`{"hook_event_name":"PreToolUse","tool_input":{"a":[{"b":"\ud83d\ude00"}]}}`))
	f.Add(3, []byte(" "))
	f.Fuzz(func(t *testing.T, i int, text []byte) {
		e := hook.Events()[uint(i)%uint(len(hook.Events()))]
		call, err := hook.ParseCall(e, text)
		if err != nil {
			if call != nil {
				t.Fatal("both a call and an error")
			}
			return
		}
		if len(call.Payload) > hook.MaxPayload || call.Event != e {
			t.Fatalf("%d bytes of %s", len(call.Payload), call.Event)
		}
		want := &hook.Call{Event: e, Payload: call.Payload}
		if err := oracle.Unmarshal(call.Payload, want); err != nil {
			t.Fatalf("%q is not what another parser reads: %v", call.Payload, err)
		}
		if diff := cmp.Diff(want, call, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		var name struct {
			Event string `json:"hook_event_name"`
		}
		if err := oracle.Unmarshal(call.Payload, &name); err != nil || strings.TrimSpace(string(text)) != "" && name.Event != e.Name() {
			t.Fatalf("%q passed for %s: %v", name.Event, e, err)
		}
	})
}
