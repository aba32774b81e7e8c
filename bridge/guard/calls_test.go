package guard

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rollout"
	"codex-bridge.example/bridge/rules"
)

const (
	startedTurn = `{"type":"event_msg","payload":{"type":"task_started","turn_id":"turn-1"}}` + "\n"
	endedCall   = `{"type":"event_msg","payload":{"type":"item_completed","turn_id":"turn-1","item":{"type":"CommandExecution","id":"c1"}}}` + "\n"
)

// recordedCall returns Codex's record of a call c1.
func recordedCall(arguments string) string {
	return fmt.Sprintf(`{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":%q,"call_id":"c1"}}`+"\n", arguments)
}

// StartCall denies a call whose id another call of the turn has had. Later questions get the call of
// the file that the hook names.
func TestStartCall(t *testing.T) {
	const id = "01900000-0000-7000-8000-00000000000a"
	plain, escalated := recordedCall(`{"cmd":"make"}`), recordedCall(`{"cmd":"make","sandbox_permissions":"require_escalated"}`)
	for name, test := range map[string]struct {
		mode      config.Mode // "" is enforce
		file      string      // "" for no file, "other" for the file of another thread
		text      string      // of the file at the first call
		more      string      // added before the second call
		command   string      // in the hook's input; "" for make
		first     rules.Escalation
		then      rules.Escalation
		refusedIn int // the call that is refused, 1 or 2; 0 for none
	}{
		"in the sandbox":         {text: plain, more: plain, first: rules.Sandboxed, then: rules.Sandboxed, refusedIn: 2},
		"outside":                {text: escalated, more: plain, first: rules.Escalated, then: rules.Escalated, refusedIn: 2},
		"the first has ended":    {text: plain, more: endedCall + escalated, first: rules.Sandboxed, then: rules.Sandboxed, refusedIn: 2},
		"both are in the file":   {text: plain + plain, refusedIn: 2},
		"one is outside":         {text: plain + escalated, first: rules.Escalated, then: rules.Escalated, refusedIn: 2},
		"not in the file":        {refusedIn: 2},
		"no file":                {file: "none", text: plain, refusedIn: 2},
		"another thread's file":  {file: "other", text: plain, more: endedCall + plain, refusedIn: 2},
		"another command":        {text: plain, more: endedCall + plain, command: "rm x", refusedIn: 2},
		"an empty command":       {text: recordedCall(`{"cmd":""}`), more: plain, refusedIn: 2},
		"audit":                  {mode: config.Audit, text: plain, more: plain, first: rules.Sandboxed, then: rules.Sandboxed},
		"off":                    {mode: config.Off, text: plain, more: plain},
		"off, the first ended":   {mode: config.Off, text: plain, more: endedCall + plain},
		"audit, the first ended": {mode: config.Audit, text: plain, more: endedCall + plain, first: rules.Sandboxed, then: rules.Sandboxed},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAgentWorld(t, func(cfg *config.Policy) {
				if test.mode != "" {
					cfg.Mode = test.mode
				}
			})
			base := "home/sessions/2026/01/01/rollout-2026-01-01T00-00-00-"
			file := w.write(base+id+".jsonl", startedTurn+test.text)
			if test.file == "other" {
				file = w.write(base+strings.Replace(id, "a", "b", 1)+".jsonl", startedTurn+test.text)
			}
			w.g.threads.setVerified(map[string]*thread{id: {Thread: policy.Thread{Rollout: "before"}}})
			w.g.threads.setChild(id, &child{Subagent: rollout.Subagent{Path: "before"}})
			command := test.command
			if command == "" {
				command = "make"
			}
			named := file
			if test.file == "none" {
				named = ""
			}
			start := func() bool {
				return w.g.StartCall(context.Background(), id, "turn-1", "c1", named, fmt.Appendf(nil, `{"tool_input":{"command":%q}}`, command)) == ""
			}
			known := func() rules.Escalation {
				call, _ := w.g.calls.get(turnOf{id, "turn-1"}, "c1")
				return call.Escalation
			}
			w.g.threads.apply("unknown", rolloutMoved{"x"})
			if !start() || known() != test.first {
				t.Errorf("the first call is %v", known())
			}
			w.write(strings.TrimPrefix(file, w.root+"/"), startedTurn+test.text+test.more)
			if ran := start(); ran != (test.refusedIn == 0) || known() != test.then {
				t.Errorf("the second call runs: %v; the call is %v", ran, known())
			}
			want := file
			if test.mode == config.Off || test.file != "" {
				want = "before"
			}
			if got, path := w.g.threads.records[id].verified.Rollout, w.g.child(id).Path; got != want || path != want {
				t.Errorf("the thread's file is %s, the subagent's %s; want %s", filepath.Base(got), filepath.Base(path), filepath.Base(want))
			}
		})
	}
}

// A long id is hashed.
func TestCallKey(t *testing.T) {
	long := strings.Repeat("x", 64)
	if callKey(long) != long || len(callKey(long+"x")) != 33 || callKey(long+"x") == callKey(long+"y") {
		t.Errorf("%q and %q", callKey(long), callKey(long+"x"))
	}
}

// The model's call says whether a command stays in the sandbox, if the thread is verified and the
// question is about a command.
func TestCallOfQuestion(t *testing.T) {
	const command = "item/commandExecution/requestApproval"
	params := value(t, `{"threadId":"t","turnId":"u","itemId":"i","command":"ls"}`)
	for name, test := range map[string]struct {
		method              string
		verified, escalates bool
		want                bool
	}{
		"in the sandbox":       {command, true, false, true},
		"outside":              {command, true, true, false},
		"an unverified thread": {command, false, false, false},
		"another question":     {"execCommandApproval", true, false, false},
	} {
		w := newAgentWorld(t, nil)
		if test.verified {
			w.g.threads.setVerified(map[string]*thread{"t": {Thread: policy.Thread{ID: "t", Workspace: w.root, Sandbox: "workspace-write", Approval: []byte(`"on-request"`)}}})
		}
		call := rollout.Call{Escalation: rules.Sandboxed}
		if test.escalates {
			call.Escalation = rules.Escalated
		}
		at := turnOf{"t", "u"}
		w.g.calls.start(at, "i")
		w.g.calls.set(at, "i", call)
		if got := w.g.RunsInSandbox(test.method, params); got != test.want {
			t.Errorf("%s: it runs in the sandbox: %v", name, got)
		}
	}
}
