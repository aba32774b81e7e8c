//go:build unix

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/rpc"
)

const commandQuestion = "item/commandExecution/requestApproval"

// does returns the reaction of a user with this decision.
func does(decision string) reaction {
	switch {
	case decision == "allow-once":
		return reaction{line: "y"}
	case decision == "allow-always":
		return reaction{line: "s"}
	case decision == "" || strings.HasPrefix(decision, "<"): // no decision
		return reaction{err: io.EOF}
	}
	return reaction{line: decision}
}

// decisionOf returns the reaction of a user that leads to an outcome.
var decisionOf = map[string]reaction{
	"approved-once": {line: "y"}, "approved-session": {line: "s"}, "denied": {line: "n"}, "unavailable": {err: io.EOF},
	"cancelled": {err: context.Canceled},
}

type row struct {
	Method, Outcome  string
	Params, Response json.RawMessage
}

// inTurn adds the thread and the turn to params. Each question has them.
func inTurn(t *testing.T, params json.RawMessage) json.RawMessage {
	t.Helper()
	all := map[string]json.RawMessage{"threadId": json.RawMessage(`"` + vectorThread + `"`), "turnId": json.RawMessage(`"` + vectorTurn + `"`)}
	if err := json.Unmarshal(params, &all); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// compareAnswer compares an answer with the vector's answer, or with its row in DEVIATIONS.md.
func (v row) judged(t *testing.T, got rpc.Value) {
	t.Helper()
	result := got.Get("result")
	switch {
	case !strings.Contains(v.Method, "/"): // legacy
		if !result.Get("decision").Get("denied").Get("rejection").Exists() {
			t.Errorf("the answer is %s, want a denial in Codex's schema", got.Raw())
		}
	case isUnknown(v.Method):
		if !got.Get("error").Exists() {
			t.Errorf("the answer is %s, want an error", got.Raw())
		}
	case v.Method == commandQuestion && (v.Outcome == "denied" || v.Outcome == "unavailable") && string(compact(t, v.Response)) == `{"decision":"cancel"}`:
		sameJSON(t, json.RawMessage(`{"decision":"decline"}`), result.Raw())
	default:
		sameJSON(t, v.Response, result.Raw())
	}
}

func isUnknown(method string) bool {
	return !slices.Contains([]string{commandQuestion, "item/fileChange/requestApproval", "item/permissions/requestApproval"}, method)
}

func TestApprovalVectorsMatrix(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	eachCase(t, "approval.json", "responseMatrix", func(t *testing.T, r row) {
		does, ok := decisionOf[r.Outcome]
		if !ok {
			t.Fatalf("unknown outcome %q", r.Outcome)
		}
		c := atTerminal(t, "")
		params := inTurn(t, r.Params)
		c.turn(turnOf(t, params))
		got, _ := c.ask(r.Method, params, does)
		r.judged(t, got)
	})
}

// turnOf returns the thread and the turn of a question.
func turnOf(t *testing.T, params json.RawMessage) (thread, turn string) {
	t.Helper()
	var p struct{ ThreadID, ConversationID, TurnID string }
	if err := json.Unmarshal(params, &p); err != nil {
		t.Fatal(err)
	}
	return cmp.Or(p.ThreadID, p.ConversationID, vectorThread), cmp.Or(p.TurnID, vectorTurn)
}

// The outcome of a decision shows in the answers to two commands: one offers all decisions, one
// offers no lasting decision.
func TestApprovalVectorsDecisions(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	eachCase(t, "approval.json", "decisionMap", func(t *testing.T, d struct{ Decision, Outcome string }) {
		c := atTerminal(t, "")
		c.turn(vectorThread, vectorTurn)
		got, _ := c.ask(commandQuestion, inTurn(t, json.RawMessage(`{"command":"ls"}`)), does(d.Decision))
		want := map[string]string{"approved-once": "accept", "approved-session": "acceptForSession", "denied": "decline", "unavailable": "decline"}[d.Outcome]
		if !got.Get("result").Get("decision").Is(want) {
			t.Errorf("the answer is %s, want %q", got.Raw(), want)
		}
	})
}

// approvalCase is a question with its expected answer.
type approvalCase struct {
	Name  string
	Input struct {
		Method        string
		Params        json.RawMessage
		AutoApprove   bool
		Aborted       bool
		PolicyOutcome string
		RequestResult json.RawMessage
		RequestError  string
		WaitError     string
		WaitResult    struct{ Decision *string }
		Relay         *struct{ AllowedEvents []string }
		RelayResponse *struct {
			Stdout   string
			ExitCode int
		}
		RelayError    string
		HasInvocation bool
	}
	Response      json.RawMessage
	ApprovalCalls []struct{ Method, Title, Description string }
}

// hooked reports whether a hook decided the case. Codex runs its hooks first, and then does not
// ask.
func (c approvalCase) hooked() bool {
	in := c.Input
	if in.Relay == nil || in.Method != commandQuestion || !slices.Contains(in.Relay.AllowedEvents, "pre_tool_use") {
		return false
	}
	return in.HasInvocation || in.RelayError != "" || in.RelayResponse != nil && (in.RelayResponse.Stdout != "" || in.RelayResponse.ExitCode != 0)
}

// person returns the reaction of the user in the case.
func (c approvalCase) person() reaction {
	in := c.Input
	var route struct {
		ID       string
		Decision *string
	}
	err := json.Unmarshal(in.RequestResult, &route)
	switch {
	case in.Aborted:
		return reaction{err: context.Canceled}
	case err != nil || route.ID == "" || in.WaitError != "" || in.WaitResult.Decision == nil:
		return reaction{err: io.EOF}
	}
	return does(*in.WaitResult.Decision)
}

func (c approvalCase) outcome() string {
	for outcome, does := range decisionOf {
		if does == c.person() {
			return outcome
		}
	}
	return "denied"
}

func TestApprovalVectorsCases(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	hooks := leftOut[approvalCase]{"approval.json | all with a hook that said something, or that ran before (`relay`)", approvalCase.hooked}
	eachCase(t, "approval.json", "cases", func(t *testing.T, c approvalCase) {
		in := c.Input
		if in.PolicyOutcome != "" && len(c.ApprovalCalls) == 0 {
			ruled := atTerminal(t, rulesDeny)
			ruled.turn(turnOf(t, in.Params))
			got, shown := ruled.ask(in.Method, in.Params, reaction{line: "y"})
			sameJSON(t, c.Response, got.Get("result").Raw())
			if shown != "" {
				t.Errorf("the bridge asked the user %q", shown)
			}
			return
		}
		unhandled := masks(c.Response, "undefined")
		open := atTerminal(t, "")
		open.session = c.session()
		thread, turn := turnOf(t, in.Params)
		if unhandled { // of another turn
			turn = "not " + turn
		}
		open.turn(thread, turn)
		switch {
		case in.AutoApprove && !unhandled: // see DEVIATIONS.md: the bridge asks the user
			got, shown := open.ask(in.Method, in.Params, reaction{line: "s"})
			sameJSON(t, c.Response, got.Get("result").Raw())
			if shown == "" {
				t.Error("the bridge did not ask the user")
			}
		case unhandled: // refused
			got, shown := open.ask(in.Method, in.Params, reaction{line: "y"})
			sameJSON(t, json.RawMessage(`{"decision":"decline"}`), got.Get("result").Raw())
			if shown != "" {
				t.Errorf("the bridge asked the user %q", shown)
			}
		default:
			got, shown := open.ask(in.Method, in.Params, c.person())
			row{Method: in.Method, Response: c.Response, Outcome: c.outcome()}.judged(t, got)
			if len(c.ApprovalCalls) == 0 {
				if shown != "" {
					t.Errorf("the bridge asked the user %q", shown)
				}
				return
			}
			want := c.ApprovalCalls[0].Title + "\n" + c.ApprovalCalls[0].Description + "\n"
			if c.hasLines() { // see DEVIATIONS.md: the bridge shows where they end
				want = c.ApprovalCalls[0].Title + "\nCommand: <text>⏎<text>\nWhole command:\n"
			}
			if !startsLike(want, shown) {
				t.Errorf("the bridge showed\n%s\nwant\n%s", shown, want)
			}
		}
	}, hooks)
}

// hasLines reports whether the case is about a command of several lines.
func (c approvalCase) hasLines() bool {
	var params struct{ Command string }
	return json.Unmarshal(c.Input.Params, &params) == nil && strings.Contains(strings.TrimSpace(params.Command), "\n")
}

// rulesDeny is a policy whose rule denies each command.
const rulesDeny = "[policy]\nmode = \"enforce\"\nsandbox = \"read-only\"\nescalation = \"ask\"\nproject_trust = \"codex\"\ngate = false\n" +
	"[[policy.rule]]\ntool = \"*\"\ndecision = \"deny\"\n"

// session returns the session that the card of the case names.
func (c approvalCase) session() string {
	for _, call := range c.ApprovalCalls {
		if _, after, ok := strings.Cut("\n"+call.Description, "\nSession: "); ok {
			name, _, _ := strings.Cut(after, "\n")
			return name
		}
	}
	return vectorSession
}
