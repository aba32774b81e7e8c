package handlers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/relay/handlers"
	"codex-bridge.example/relay/hook"
)

func rules(deny string) func(context.Context, *hook.Call) handlers.Ruling {
	return func(_ context.Context, c *hook.Call) handlers.Ruling {
		if strings.Contains(string(c.ToolInput), deny) && strings.Contains(string(c.Payload), deny) {
			return handlers.Ruling{Refusal: "a rule"}
		}
		return handlers.Ruling{}
	}
}

func TestAnswersInOrder(t *testing.T) {
	pre, permission := hook.PreToolUse, hook.PermissionRequest
	allow, deny := []string{"print", `{"decision":"allow"}`}, []string{"exit", "2", "handler"}
	for _, tc := range []struct {
		name     string
		event    hook.Event
		handlers [][]string
		client   string
		rule     string // denies an input that has this
		want     hook.Answer
	}{
		{"rule first", pre, [][]string{deny}, `{"decision":"deny","reason":"client"}`, "make", hook.Answer{Decision: hook.Deny, Reason: "a rule"}},
		{"handler next", pre, [][]string{{"print", ""}, deny}, `{"decision":"deny","reason":"client"}`, "-", hook.Answer{Decision: hook.Deny, Reason: "handler"}},
		{"client last", pre, [][]string{{"print", ""}}, `{"decision":"deny","reason":"client"}`, "-", hook.Answer{Decision: hook.Deny, Reason: "client"}},
		{"client without words", pre, nil, `{"decision":"deny"}`, "-", hook.Answer{Decision: hook.Deny, Reason: "Denied by the editor, which gave no reason."}},
		{"nobody", pre, [][]string{{"print", ""}}, `null`, "-", hook.Answer{}},
		{"the last rewriting counts", pre, [][]string{{"print", `{"input":{"command":"a"}}`}, {"print", `{"input":{"command":"b"}}`}}, `{}`, "-",
			hook.Answer{Input: json.RawMessage(`{"command":"b"}`)}},
		{"a rewriting is judged", pre, [][]string{{"print", `{"input":{"command":"rm"}}`}}, `{}`, "rm", hook.Answer{Decision: hook.Deny, Reason: "*"}},
		{"a denial after a rewriting", pre, [][]string{{"print", `{"input":{"command":"a"}}`}}, `{"decision":"deny","reason":"client"}`, "-",
			hook.Answer{Decision: hook.Deny, Reason: "client"}},

		{"permission: an allow of the rules is none", permission, nil, `{}`, "-", hook.Answer{}},
		{"permission: rule over handler", permission, [][]string{allow}, `{"decision":"allow"}`, "make", hook.Answer{Decision: hook.Deny, Reason: "a rule"}},
		{"permission: a later handler denies", permission, [][]string{allow, deny}, `{"decision":"allow"}`, "-", hook.Answer{Decision: hook.Deny, Reason: "handler"}},
		{"permission: what a handler allows, nobody is asked about", permission, [][]string{allow}, `{"decision":"deny"}`, "-", hook.Answer{Decision: hook.Allow}},
		{"permission: client allows", permission, [][]string{{"print", ""}}, `{"decision":"allow"}`, "-", hook.Answer{Decision: hook.Allow}},
		{"permission: client denies", permission, nil, `{"decision":"deny","reason":"no"}`, "-", hook.Answer{Decision: hook.Deny, Reason: "no"}},
		{"permission: client revises", permission, nil, `{"decision":"revise"}`, "-", hook.Answer{Decision: hook.Deny, Reason: "*"}},

		{"post: all look on, the first counts", hook.PostToolUse, [][]string{{"exit", "1", ""}, {"exit", "2", "one"}, {"exit", "2", "two"}}, `{"decision":"block","reason":"three"}`, "make",
			hook.Answer{Decision: hook.Block, Reason: "one"}},
		{"stop: the first that has an opinion", hook.Stop, [][]string{{"print", ""}, {"print", `{"decision":"finish"}`}}, `{"decision":"revise","reason":"x"}`, "-",
			hook.Answer{Decision: hook.Finish}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var all []config.Handler
			for _, how := range tc.handlers {
				all = append(all, command(tc.event, how...))
			}
			denied := 0
			c := newChain(handlers.Options{
				Hooks: hooks(all...), Rules: rules(tc.rule), Client: clientWith(tc.client),
				Denied: func(context.Context, *hook.Call, string) { denied++ },
			})
			got := c.Answer(t.Context(), call(t, tc.event, nil))
			if ofHandler := got.Reason == "handler" || tc.name == "permission: client revises"; ofHandler != (denied == 1) || denied > 1 {
				t.Errorf("%d denials were reported", denied)
			}
			if tc.want.Reason == "*" && got.Reason != "" {
				tc.want.Reason = got.Reason
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Passed is called once, for the input that runs, and only if nothing has denied the call. It may deny it.
func TestPassedIsCalledForCallsThatRun(t *testing.T) {
	for _, test := range []struct {
		name     string
		handlers [][]string
		person   string // the decision of a person; "": there is none
		confine  string // why the call is denied at last
		refusal  string // of Passed
		want     []string
		decision hook.Decision
	}{
		{"nothing denies", nil, "", "", "", []string{`{"command":"make"}`}, ""},
		{"a handler passes", [][]string{{"print", ""}}, "", "", "", []string{`{"command":"make"}`}, ""},
		{"a handler rewrites", [][]string{{"print", `{"input":{"command":"b"}}`}}, "", "", "", []string{`{"command":"b"}`}, ""},
		{"a handler denies", [][]string{{"exit", "2", "handler"}}, "", "", "", nil, hook.Deny},
		{"a person accepts", [][]string{{"print", ""}}, "accept", "", "", []string{`{"command":"make"}`}, ""},
		{"a person denies", nil, "deny", "", "", nil, hook.Deny},
		{"it can't be confined", nil, "", "no", "", nil, hook.Deny},
		{"it denies", nil, "", "", "not logged", []string{`{"command":"make"}`}, hook.Deny},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var all []config.Handler
			for _, how := range test.handlers {
				all = append(all, command(hook.PreToolUse, how...))
			}
			var passed []string
			c := newChain(handlers.Options{
				Hooks: hooks(all...),
				Rules: func(context.Context, *hook.Call) (r handlers.Ruling) {
					if test.person != "" {
						r.Person = func(context.Context, *hook.Call) (a hook.Answer) {
							if test.person == "deny" {
								a.Decision = hook.Deny
							}
							return a
						}
					}
					r.Passed = func(_ context.Context, call *hook.Call) string {
						passed = append(passed, string(call.ToolInput))
						return test.refusal
					}
					return r
				},
				Confine: func(context.Context, *hook.Call) (json.RawMessage, string) { return nil, test.confine },
			})
			a := c.Answer(t.Context(), call(t, hook.PreToolUse, nil))
			if diff := cmp.Diff(test.want, passed); diff != "" || a.Decision != test.decision {
				t.Errorf("%+v, passed %q", a, passed)
			}
			if test.refusal != "" && a.Reason != test.refusal {
				t.Errorf("the reason is %q", a.Reason)
			}
		})
	}
}

// An input that the bridge may not replace denies the call; one that it does not replace is not checked.
func TestReplacedInputIsChecked(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]hook.Decision{"": "", `{"input":{"command":"b"}}`: hook.Deny} {
		c := newChain(handlers.Options{
			Hooks: hooks(command(hook.PreToolUse, "print", output)),
			Replaces: func(_ context.Context, call *hook.Call) string {
				return "no " + string(call.ToolInput)
			},
		})
		if a := c.Answer(t.Context(), call(t, hook.PreToolUse, nil)); a.Decision != want || want != "" && a.Reason != `no {"command":"b"}` {
			t.Errorf("%q: %+v", output, a)
		}
	}
}

// The next step gets the rewritten input. The rest of the payload is unchanged.
func TestNextStepGetsRewrittenInput(t *testing.T) {
	var seen map[string]any
	c := newChain(handlers.Options{
		Hooks: hooks(command(hook.PreToolUse, "print", `{"input":{"q":9007199254740993}}`)),
		Client: client(func(_ context.Context, event string, payload json.RawMessage) (json.RawMessage, error) {
			d := json.NewDecoder(strings.NewReader(string(payload)))
			d.UseNumber()
			return nil, errors.Join(d.Decode(&seen), map[bool]error{false: errors.New(event)}[event == "preToolUse"])
		}),
	})
	original := call(t, hook.PreToolUse, map[string]any{"cwd": "/none", "tool_name": "mcp__s__t", "tool_input": map[string]any{"q": json.Number("9007199254740992")}})
	got := c.Answer(t.Context(), original)
	want := map[string]any{"session_id": "s", "turn_id": "t", "cwd": "/none", "hook_event_name": "PreToolUse", "tool_name": "mcp__s__t",
		"tool_input": map[string]any{"q": json.Number("9007199254740993")}}
	if diff := cmp.Diff(want, seen); diff != "" || string(got.Input) != `{"q":9007199254740993}` {
		t.Error(diff, got)
	}
	if string(original.ToolInput) != `{"q":9007199254740992}` {
		t.Errorf("the call was changed: %s", original.ToolInput)
	}
}

func TestFailureIsADenialUnlessAllowed(t *testing.T) {
	bad := errors.New("gone")
	for name, o := range map[string]handlers.Options{
		"client errs":        {Client: client(func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, bad })},
		"client panics":      {Client: client(func(context.Context, string, json.RawMessage) (json.RawMessage, error) { panic(bad) })},
		"client babbles":     {Client: clientWith(`{"decision":"deny","more":1}`)},
		"client says a list": {Client: clientWith(`[]`)},
	} {
		for _, event := range hook.Events() {
			var told []string
			o.Hooks = hooks()
			o.Failed = func(_ context.Context, call *hook.Call, reason string) {
				told = append(told, string(call.Event)+" "+reason)
			}
			c := newChain(o)
			if got := c.Answer(t.Context(), call(t, event, nil)); (got.Decision == hook.Deny) != event.Decides() || cmp.Equal(got, hook.Answer{}) == event.Decides() {
				t.Errorf("%s, %s: %+v", name, event, got)
			}
			o.Hooks.OnFailure = "allow"
			c.SetConfig(o.Hooks)
			if got := c.Answer(t.Context(), call(t, event, nil)); !cmp.Equal(got, hook.Answer{}) {
				t.Errorf("%s, %s, on_failure = allow: %+v", name, event, got)
			}
			want := 2
			if event.Decides() {
				want = 1 // a denial has a reason of its own
			}
			if len(told) != want || !strings.HasPrefix(told[0], string(event)+" the editor, which is asked at "+string(event)+", failed: ") {
				t.Errorf("%s, %s: told %q", name, event, told)
			}
		}
	}
	// on_failure does not apply to policy's own failure
	o := handlers.Options{Hooks: config.Hooks{OnFailure: "allow"}, Rules: func(context.Context, *hook.Call) handlers.Ruling { panic(bad) }}
	if got := newChain(o).Answer(t.Context(), call(t, hook.PreToolUse, nil)); got.Decision != hook.Deny {
		t.Errorf("rules panic: %+v", got)
	}
}

func TestRevisionsAreBounded(t *testing.T) {
	answer := `{"decision":"revise","reason":"again"}`
	c := newChain(handlers.Options{Hooks: hooks(), Client: client(func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(answer), nil
	})})
	rounds := func(turn string, agent string) (n int) {
		for i := range 10 {
			if c.Answer(t.Context(), call(t, hook.Stop, map[string]any{"turn_id": turn, "agent_id": agent, "stop_hook_active": i > 0})).Decision == hook.Revise {
				n++
			}
		}
		return n
	}
	check := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	check("plain", rounds("one", ""), 3)
	check("again in the same turn", rounds("one", ""), 0)
	check("another turn", rounds("two", ""), 3)
	check("a subagent", rounds("two", "a"), 3)
	answer = `{"decision":"revise","retry":{"instruction":"x","maxAttempts":2,"idempotencyKey":"k"}}`
	check("a key", rounds("three", ""), 2)
	answer = `{"decision":"revise","retry":{"instruction":"y","maxAttempts":9,"idempotencyKey":"l"}}`
	check("another key has what is left of the turn", rounds("three", ""), 1)
	for i := range 3000 { // the oldest counters are dropped, so memory is bounded
		c.Answer(t.Context(), call(t, hook.Stop, map[string]any{"turn_id": fmt.Sprint(i)}))
	}
	check("long after", rounds("three", ""), 3)
}

func TestClientIsAskedAtALimitedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChain(handlers.Options{Hooks: hooks(), Client: clientWith(`{"decision":"allow"}`)})
		allowed := func(session string) (n int) {
			for range 14 {
				if c.Answer(t.Context(), call(t, hook.PermissionRequest, map[string]any{"session_id": session})).Decision == hook.Allow {
					n++
				}
			}
			return n
		}
		if got := []int{allowed("a"), allowed("a"), allowed("b")}; !cmp.Equal(got, []int{12, 0, 12}) {
			t.Error(got)
		}
		time.Sleep(time.Minute)
		if got := allowed("a"); got != 12 {
			t.Error(got)
		}
	})
}

// A person is asked last, about the final input, and only if nothing has denied the call.
// Only a clean yes lets it run.
func TestPersonIsAskedLast(t *testing.T) {
	pre := hook.PreToolUse
	for name, tc := range map[string]struct {
		handlers [][]string
		person   hook.Answer
		panics   bool
		asked    string // the input that the person was shown; "": not asked
		want     hook.Answer
	}{
		"yes":      {asked: `{"command":"make"}`},
		"no":       {person: hook.Answer{Decision: hook.Deny, Reason: "no"}, asked: `{"command":"make"}`, want: hook.Answer{Decision: hook.Deny, Reason: "no"}},
		"fails":    {panics: true, want: hook.Answer{Decision: hook.Deny, Reason: "*"}},
		"not then": {handlers: [][]string{{"exit", "2", "handler"}}, want: hook.Answer{Decision: hook.Deny, Reason: "handler"}},
		"rewritten": {
			handlers: [][]string{{"print", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"make test"}}}`}}, asked: `{"command":"make test"}`,
			want: hook.Answer{Input: json.RawMessage(`{"command":"make test"}`)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var all []config.Handler
			for _, how := range tc.handlers {
				all = append(all, command(pre, how...))
			}
			asked := ""
			c := newChain(handlers.Options{Hooks: hooks(all...), Rules: func(context.Context, *hook.Call) handlers.Ruling {
				return handlers.Ruling{Person: func(_ context.Context, call *hook.Call) hook.Answer {
					if tc.panics {
						panic("no screen")
					}
					asked = string(call.ToolInput)
					return tc.person
				}}
			}})
			got := c.Answer(t.Context(), call(t, pre, nil))
			if tc.want.Reason == "*" && got.Reason != "" {
				tc.want.Reason = got.Reason
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || asked != tc.asked {
				t.Errorf("asked about %q\n%s", asked, diff)
			}
		})
	}
}

// An allow that policy does not permit becomes no opinion, so that Codex asks the client. A
// denial stays.
func TestPermitsTurnsAllowIntoNoOpinion(t *testing.T) {
	for name, tc := range map[string]struct {
		say     string
		permits func(context.Context, *hook.Call) bool
		want    hook.Decision
	}{
		"allow that may stand": {`{"decision":"allow"}`, func(context.Context, *hook.Call) bool { return true }, hook.Allow},
		"allow that may not":   {`{"decision":"allow"}`, func(context.Context, *hook.Call) bool { return false }, hook.NoOpinion},
		"panic":                {`{"decision":"allow"}`, func(context.Context, *hook.Call) bool { panic("x") }, hook.NoOpinion},
		"denial":               {`{"decision":"deny"}`, func(context.Context, *hook.Call) bool { return false }, hook.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			c := newChain(handlers.Options{Hooks: hooks(), Permits: tc.permits, Client: clientWith(tc.say)})
			if got := c.Answer(t.Context(), call(t, hook.PermissionRequest, nil)); got.Decision != tc.want {
				t.Errorf("%+v, want %q", got, tc.want)
			}
		})
	}
}

// The rules of the moment count: those that come while a handler runs deny its call, or have a person
// asked.
func TestRulesThatComeWhileAHandlerRuns(t *testing.T) {
	for name, test := range map[string]struct {
		then handlers.Ruling
		want hook.Answer
	}{
		"none":   {},
		"denies": {handlers.Ruling{Refusal: "a new rule"}, hook.Answer{Decision: hook.Deny, Reason: "a new rule"}},
		"asks": {
			handlers.Ruling{Person: func(context.Context, *hook.Call) hook.Answer {
				return hook.Answer{Decision: hook.Deny, Reason: "the person"}
			}},
			hook.Answer{Decision: hook.Deny, Reason: "the person"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			ran := false
			c := newChain(handlers.Options{
				Client: client(func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
					ran = true
					return nil, nil
				}),
				Rules: func(context.Context, *hook.Call) handlers.Ruling {
					if ran {
						return test.then
					}
					return handlers.Ruling{}
				},
			})
			if diff := cmp.Diff(test.want, c.Answer(t.Context(), call(t, hook.PreToolUse, nil))); diff != "" || !ran {
				t.Errorf("the handler ran: %v\n%s", ran, diff)
			}
		})
	}
}

// After an answer, the rules are applied as they are then: they may want another person to be asked, or deny the call.
func TestRulesThatComeWhileAPersonIsAsked(t *testing.T) {
	for name, test := range map[string]struct {
		rules  []string // of each time: who must be asked, or "deny"
		asked  []string
		denies string // who says no
		want   hook.Decision
	}{
		"the same":        {rules: []string{"user", "user"}, asked: []string{"user"}},
		"another":         {rules: []string{"user", "release", "release"}, asked: []string{"user", "release"}},
		"another, a no":   {rules: []string{"user", "release"}, asked: []string{"user", "release"}, denies: "release", want: hook.Deny},
		"none any longer": {rules: []string{"user", ""}, asked: []string{"user"}},
		"a denial":        {rules: []string{"user", "deny"}, asked: []string{"user"}, want: hook.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			times := 0
			c := newChain(handlers.Options{Rules: func(context.Context, *hook.Call) handlers.Ruling {
				who := test.rules[min(times, len(test.rules)-1)]
				times++
				switch who {
				case "":
					return handlers.Ruling{}
				case "deny":
					return handlers.Ruling{Refusal: "a new rule"}
				}
				return handlers.Ruling{Asks: policy.People{Groups: []config.Quorum{{Group: who, Count: 1}}}, Person: func(context.Context, *hook.Call) hook.Answer {
					if asked = append(asked, who); who == test.denies {
						return hook.Answer{Decision: hook.Deny, Reason: "no"}
					}
					return hook.Answer{}
				}}
			}})
			got := c.Answer(t.Context(), call(t, hook.PreToolUse, nil))
			if diff := cmp.Diff(test.asked, asked); diff != "" || got.Decision != test.want {
				t.Errorf("%+v, -want +got\n%s", got, diff)
			}
		})
	}
}
