package guard_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/policy/replay"
)

const exceptionPolicy = "[policy]\nsandbox = \"read-only\"\nescalation = \"ask\"\napproval = [\"on-request\"]\nproject_trust = \"codex\"\n" +
	"[[policy.rule]]\ncommand = \"make\"\ndecision = \"allow\"\nescalated = true\nowner = \"ada\"\nticket = \"OPS-8\"\n" +
	"[[policy.rule]]\ncommand = \"make\"\ndecision = \"allow\"\nowner = \"ada\"\nticket = \"OPS-9\"\nuntil = \"9999-12-31\"\n" +
	"[[policy.rule]]\ncommand = \"git log\"\ndecision = \"allow\"\n[[policy.rule]]\ncommand = \"true\"\ndecision = \"allow\"\nescalated = true\n"

// A call that passes by an exception is logged once it is about to run. A call by another allow rule is not. If
// Codex asks about the call, the answer of the rules is logged.
func TestUseOfAnExceptionIsLogged(t *testing.T) {
	for _, test := range []struct {
		name, policy, call, command, reason string
	}{
		{"used", exceptionPolicy, "inside", "make", "a rule says allow (owner ada, ticket OPS-9, until 9999-12-31): make"},
		{"in a part", exceptionPolicy, "inside", "ls && make", "a rule says allow (owner ada, ticket OPS-9, until 9999-12-31): make"},
		{"a plain allow", exceptionPolicy, "inside", "git log", ""},
		{"no rule", exceptionPolicy, "inside", "ls", ""},
		{"Codex asks", exceptionPolicy, "outside", "make", ""},
		{"audit", strings.Replace(exceptionPolicy, "[policy]\n", "[policy]\nmode = \"audit\"\n", 1), "inside", "make", "a rule says allow (owner ada, ticket OPS-9, until 9999-12-31): make"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &book{}
			_, g, w := withRollout(t, test.policy, b, "on-request")
			b.entries = nil
			use := bash(t, test.command, w.StartFolder)
			use.ID = test.call
			var passed []string
			g.OnPassed(func(d decision.Record) { passed = append(passed, d.Rule) })
			r := g.Tool(t.Context(), "t1", "u", use, []byte("call"))
			if rule := map[bool]string{true: "policy.rule"}[test.reason != ""]; !slices.Equal(passed, []string{rule}) {
				t.Errorf("the trace gets %q", passed)
			}
			if r.Refusal != "" || r.Ask || len(b.entries) > 0 {
				t.Fatalf("%+v, logged %+v", r, b.entries)
			}
			if refusal := g.RecordExceptions(t.Context(), "t1", "u", []byte("call"), r); refusal != "" {
				t.Error(refusal)
			}
			if test.reason == "" {
				if len(b.entries) > 0 {
					t.Errorf("logged %+v", b.entries)
				}
				return
			}
			if len(b.entries) != 1 {
				t.Fatalf("logged %+v", b.entries)
			}
			e := b.entries[0]
			if e.Verdict != "accept" || e.Rule != "policy.rule" || e.Reason != test.reason || e.Thread != "t1" || e.Turn != "u" || e.Method != "hook/preToolUse" || !strings.Contains(e.Origin, ".toml:1") {
				t.Errorf("logged %+v", e)
			}
			if f, err := replay.DecodeFacts([]byte(e.Facts)); err != nil || f.ID != test.call || f.Unknown != "" {
				t.Errorf("the facts are %q: %v", e.Facts, err)
			}
		})
	}
}

// A call does not run if the use of its exception can't be logged. Under audit it does.
func TestUnloggedExceptionIsDenied(t *testing.T) {
	for mode, refused := range map[string]bool{"enforce": true, "audit": false} {
		b := &book{}
		_, g, w := withRollout(t, strings.Replace(exceptionPolicy, "[policy]\n", "[policy]\nmode = \""+mode+"\"\n", 1), b, "on-request")
		use := bash(t, "make", w.StartFolder)
		use.ID = "inside"
		r := g.Tool(t.Context(), "t1", "u", use, []byte("call"))
		b.err = errors.New("full")
		if refusal := g.RecordExceptions(t.Context(), "t1", "u", []byte("call"), r); strings.Contains(refusal, "full") != refused || (refusal != "") != refused {
			t.Errorf("%s: %q", mode, refusal)
		}
	}
}

// The answer by a rule to a question of Codex names the exceptions of all parts.
func TestAcceptanceNamesAllExceptions(t *testing.T) {
	b := &book{}
	c, _, _ := withRollout(t, exceptionPolicy, b, "on-request")
	b.entries = nil
	c.Play("asked", `codex> {"id":7,"method":"item/commandExecution/requestApproval","params":{"threadId":"t1","turnId":"u","itemId":"outside","startedAtMs":0,"command":"/bin/bash -lc 'true && make'","cwd":"$start"}}
codex< {"id":7,"result":{"decision":"accept"}}
`)
	if len(b.entries) != 1 || b.entries[0].Reason != "result: a rule says allow: true (policy.rule); result: a rule says allow (owner ada, ticket OPS-8): make (policy.rule)" {
		t.Errorf("logged %+v", b.entries)
	}
}

// The exception by which a command of the client passes is logged, too.
func TestExceptionOfAClientCommandIsLogged(t *testing.T) {
	const denied = "[[policy.rule]]\ncommand = \"make\"\ndecision = \"deny\"\n"
	b := &book{}
	c, _, _ := withRollout(t, exceptionPolicy+denied, b, "on-request")
	b.entries = nil
	c.Play("runs", `editor> {"id":2,"method":"command/exec","params":{"command":["make"],"cwd":"$start"}}
codex<  {"id":2,"method":"command/exec","params":"$make"}
codex>  {"id":2,"result":{}}
editor< {"id":2,"result":{}}
editor> {"id":3,"method":"command/exec","params":{"command":["ls"],"cwd":"$start"}}
codex<  {"id":3,"method":"command/exec","params":"$ls"}
codex>  {"id":3,"result":{}}
editor< {"id":3,"result":{}}
`)
	var used []string
	for _, e := range b.entries {
		if e.Verdict == "accept" {
			used = append(used, e.Method+" "+e.Rule+" "+e.Reason)
		}
	}
	if len(used) != 1 || used[0] != "command/exec policy.rule a rule says allow (owner ada, ticket OPS-8): make" {
		t.Errorf("logged %q", used)
	}
	b.err = errors.New("full")
	c.Play("is not logged", `editor> {"id":4,"method":"command/exec","params":{"command":["make"],"cwd":"$start","sandboxPolicy":{"type":"readOnly"}}}
codex<  {"id":"$config","method":"config/read","params":{"includeLayers":true,"cwd":"$start"}}
codex>  {"id":"$config","result":{"config":{},"layers":[]}}
editor< {"id":4,"error":"$full"}
`)
}
