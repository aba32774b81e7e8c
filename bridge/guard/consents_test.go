package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/rpc"
)

const askPolicy = readOnlyPolicy + "[policy.methods]\n\"thread/name/set\" = \"ask\"\n"

// person gives the same answer to every question.
type person struct {
	hooks, elicits bool
	answer         string
	err            error

	mu    sync.Mutex
	asked []string // each as "hook" or "elicitation", a space, and what the person sees
}

func (p *person) Wants(event string) bool { return p.hooks && event == "permissionRequest" }

func (p *person) ShowsElicitations() bool { return p.elicits }

func (p *person) Hook(_ context.Context, _ string, payload json.RawMessage) (json.RawMessage, error) {
	return p.put("hook " + string(payload))
}

func (p *person) Elicit(_ context.Context, thread, message string) (rpc.Value, error) {
	raw, err := p.put("elicitation " + thread + " " + message)
	doc, _ := rpc.ParseValue(raw) // only for an answer in JSON
	if doc == nil {
		return rpc.Value{}, err
	}
	return doc.Root(), err
}

func (p *person) put(question string) (json.RawMessage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, question)
	return json.RawMessage(p.answer), p.err
}

// asks starts a conversation with this person at the client, and returns it with the guard's
// decisions.
func asks(t *testing.T, who *person, log *book) (*bridgetest.Conversation, *[]guard.Applied) {
	t.Helper()
	g := guard.New(load(t, askPolicy), world(t), log, slog.New(slog.DiscardHandler))
	var told []guard.Applied
	g.OnApplied(func(a guard.Applied) { told = append(told, a) })
	return bridgetest.Start(t, g.MethodQuestions(who, func() time.Duration { return time.Minute }), g), &told
}

// A request passes only after a clear yes. Each answer is logged, and a refusal has the user's
// text.
func TestPersonDecidesAboutMethod(t *testing.T) {
	const yes, unreadable = "the user allowed it", "the client's answer can't be read, so it counts as a refusal: <error>"
	for name, test := range map[string]struct {
		person *person
		reason string
	}{
		"hook, allow":              {&person{hooks: true, answer: `{"decision":"allow"}`}, yes},
		"hook, deny":               {&person{hooks: true, answer: `{"decision":"deny"}`}, "the user refused it"},
		"hook, deny with a reason": {&person{hooks: true, answer: `{"decision":"deny","reason":"not now"}`}, "the user refused it: not now"},
		"hook, no decision":        {&person{hooks: true, answer: `{}`}, "the user refused it"},
		"hook, unreadable":         {&person{hooks: true, answer: `[]`}, unreadable},
		"hook, other spelling":     {&person{hooks: true, answer: `{"decision":"deny","Decision":"allow"}`}, unreadable},
		"hook, unknown member":     {&person{hooks: true, answer: `{"decision":"allow","unless":"it pushes"}`}, unreadable},
		"hook, reason of no text":  {&person{hooks: true, answer: `{"decision":"allow","reason":["no"]}`}, unreadable},
		"hook, no answer":          {&person{hooks: true, err: errors.New("gone")}, "the user was not asked: gone"},
		"hook before elicitation":  {&person{hooks: true, elicits: true, answer: `{"decision":"allow"}`}, yes},
		"elicitation, accept":      {&person{elicits: true, answer: `{"action":"accept"}`}, yes},
		"elicitation, decline":     {&person{elicits: true, answer: `{"action":"decline"}`}, "the user refused it"},
		"elicitation, unreadable":  {&person{elicits: true, answer: `[]`}, unreadable},
		"elicitation, no action":   {&person{elicits: true, answer: `{"decision":"accept"}`}, unreadable},
		"elicitation, other word":  {&person{elicits: true, answer: `{"action":"accepted"}`}, unreadable},
		"elicitation, no answer":   {&person{elicits: true, err: errors.New("gone")}, "the user was not asked: gone"},
	} {
		t.Run(name, func(t *testing.T) {
			var log book
			c, told := asks(t, test.person, &log)
			const request = `{"id":1,"method":"thread/name/set","params":{"threadId":"t","name":"x"}}`
			want := decision.Record{Method: "thread/name/set", Thread: "t", Mode: "enforce", Verdict: "deny", Rule: `policy.methods."thread/name/set"`}
			if test.reason == yes {
				want.Verdict, want.Fields = "accept", []string{"method"}
				const answer = `{"id":1,"result":{}}`
				c.Play(name, "editor> "+request+"\ncodex<= "+request+"\ncodex> "+answer+"\neditor<= "+answer+"\n")
			} else {
				c.Play(name, "editor> "+request+"\neditor< "+`{"id":1,"error":{"code":-32010,"message":"<text>","data":"$data"}}`+"\n")
			}
			if len(test.person.asked) != 1 || len(log.entries) != 1 {
				t.Fatalf("asked %q, logged %+v", test.person.asked, log.entries)
			}
			got, reason := log.entries[0], test.reason
			if reason == yes {
				reason += ` with {"threadId":"t","name":"x"}`
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(decision.Record{}, "Time", "Reason", "Origin", "Message", "CanWait")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if begin, isOpen := strings.CutSuffix(reason, "<error>"); got.Reason != reason && !(isOpen && strings.HasPrefix(got.Reason, begin)) {
				t.Errorf("the reason is %q, want %q", got.Reason, reason)
			}
			refusals := 0
			if test.reason != yes {
				refusals = 1
			}
			if len(*told) != refusals {
				t.Errorf("the client is told %+v", *told)
			}
		})
	}
}

// A request with the user's consent is still checked, and the client gets the refusal.
func TestConsentedRequestIsJudged(t *testing.T) {
	const text = readOnlyPolicy + `
[policy.methods]
"process/spawn" = "ask"
[[policy.rule]]
command = "git push **"
decision = "deny"
reason = "no"
`
	willing := &person{hooks: true, answer: `{"decision":"allow"}`}
	g := guard.New(load(t, text), world(t), guard.NoRecord, slog.New(slog.DiscardHandler))
	c := bridgetest.Start(t, g.MethodQuestions(willing, func() time.Duration { return time.Minute }), g)
	c.Play("denied", `
editor> {"id":1,"method":"process/spawn","params":{"command":["git","push"]}}
editor< {"id":1,"error":{"code":-32010,"message":"<text>","data":"$data"}}
`)
	if len(willing.asked) != 1 {
		t.Errorf("asked %q", willing.asked)
	}
}

// A request is refused if the user can't be asked, or if the answer can't be logged.
func TestPersonNotAsked(t *testing.T) {
	const request = `{"id":1,"method":"thread/name/set","params":{"threadId":"t","name":"x"}}`
	const refused = "editor> " + request + "\neditor< " + `{"id":1,"error":{"code":-32010,"message":"<text>","data":"$data"}}` + "\n"
	deaf := &person{answer: `{"decision":"allow","action":"accept"}`}
	c, _ := asks(t, deaf, &book{})
	c.Play("nothing offered", refused)

	willing := &person{hooks: true, answer: `{"decision":"allow"}`}
	c, _ = asks(t, willing, &book{})
	const other = `{"id":2,"method":"model/list","params":{}}`
	c.Play("not to be asked about", "editor> "+`{"method":"thread/name/set","params":{"threadId":"t","name":"x"}}`+"\neditor> "+other+"\ncodex<= "+other+"\n")
	if len(deaf.asked)+len(willing.asked) != 0 {
		t.Errorf("asked %q and %q", deaf.asked, willing.asked)
	}

	willing.elicits = true
	c, told := asks(t, willing, &book{err: errors.New("disk full")})
	c.Play("not logged", refused)
	if len(willing.asked) != 1 || len(*told) != 1 {
		t.Errorf("asked %q, the client is told %+v", willing.asked, *told)
	}
}

// The user is asked about a request only if the decision log can store its params.
func TestPersonNotAskedAboutLongParams(t *testing.T) {
	g := guard.New(load(t, askPolicy), world(t), guard.NoRecord, slog.New(slog.DiscardHandler))
	for _, bytes := range []int{1 << 20, 1<<20 + 1} {
		willing := &person{hooks: true, answer: `{"decision":"allow"}`}
		m, err := rpc.ParseMessage([]byte(`{"id":1,"method":"thread/name/set","params":{"a":"` + strings.Repeat("x", bytes-len(`{"a":""}`)) + `"}}`))
		if err != nil {
			t.Fatal(err)
		}
		refused := guard.AskPerson(g.MethodQuestions(willing, func() time.Duration { return time.Minute }), g.Policy(), m)
		if asked := bytes == 1<<20; (refused == nil) != asked || (len(willing.asked) == 1) != asked {
			t.Errorf("%d bytes: asked %d times, refused: %v", bytes, len(willing.asked), refused)
		}
	}
}

// The user is not asked about a request with more values than the bridge keeps, because the
// question would show only a part.
func TestPersonNotAskedAboutPart(t *testing.T) {
	willing := &person{hooks: true, elicits: true, answer: `{"decision":"allow"}`}
	c, _ := asks(t, willing, &book{})
	c.Play("many values", "editor> "+`{"id":1,"method":"thread/name/set","params":{"threadId":"t","x":[`+strings.Repeat("0,", 1<<17)+`0]}}`+
		"\neditor< "+`{"id":1,"error":{"code":-32010,"message":"<text>","data":"$data"}}`+"\n")
	if len(willing.asked) != 0 {
		t.Errorf("asked %.200q", willing.asked)
	}
}

// The hook has the thread, the folder and the params. An elicitation shows the first 2000
// characters of the params. Invisible characters, and those that change the direction of text, are escaped.
func TestQuestionAboutMethod(t *testing.T) {
	const prefix = "elicitation t Allow thread/name/set? policy.methods requires your consent. Its parameters: "
	const frame = len(`{"threadId":"t","name":""}`)
	for _, test := range []struct{ name, want string }{
		{"x", `{"threadId":"t","name":"x"}`},
		{"a\u0085b\u202ec", `{"threadId":"t","name":"a\u0085b\u202ec"}`},
		{"a\u200bb\U000e0061c\u2028\ufe0fd\u3164", `{"threadId":"t","name":"a\u200bb\udb40\udc61c\u2028\ufe0fd\u3164"}`},
		{strings.Repeat("é", 2000-frame), `{"threadId":"t","name":"` + strings.Repeat("é", 2000-frame) + `"}`},
		{strings.Repeat("é", 2001-frame), `{"threadId":"t","name":"` + strings.Repeat("é", 2001-frame) + `" … (+1 more characters)`},
		{strings.Repeat("é", 2300-frame), `{"threadId":"t","name":"` + strings.Repeat("é", 2002-frame) + " … (+300 more characters)"},
	} {
		refuses := &person{elicits: true, answer: `{"action":"decline"}`}
		c, _ := asks(t, refuses, &book{})
		c.Play("elicitation", "editor> "+`{"id":1,"method":"thread/name/set","params":{"threadId":"t","name":"`+test.name+`"}}`+
			"\neditor< "+`{"id":1,"error":{"code":-32010,"message":"<text>","data":"$data"}}`+"\n")
		if diff := cmp.Diff([]string{prefix + test.want}, refuses.asked); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	refuses := &person{hooks: true, answer: `{"decision":"deny"}`}
	c, _ := asks(t, refuses, &book{})
	c.Play("hook", `
editor> {"id":1,"method":"thread/name/set","params":{"threadId":"t","cwd":"/c"}}
editor< {"id":1,"error":{"code":-32010,"message":"<text>","data":"$data"}}
editor> {"id":2,"method":"thread/name/set"}
editor< {"id":2,"error":{"code":-32010,"message":"<text>","data":"$data2"}}
`)
	const rest = `"hook_event_name":"PermissionRequest","reason":"policy.methods requires your consent to thread/name/set.",`
	want := []string{
		`hook {"cwd":"/c",` + rest + `"session_id":"t","tool_input":{"threadId":"t","cwd":"/c"},"tool_name":"thread/name/set"}`,
		`hook {` + rest + `"tool_input":{},"tool_name":"thread/name/set"}`,
	}
	if diff := cmp.Diff(want, refuses.asked); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
