//go:build linux

package e2e_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
)

// The model of a read-only thread gives work to an agent of a writable thread, or to that thread.
// Codex allows it; with the bridge a model reaches only the agents of its own session.
func TestAgentOfAnotherThread(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		argv   []string
		target string // "agent", "thread", or "own"
		shout  bool   // the id in upper case
		made   bool
	}{
		"codex alone":        {argv: []string{codexPath, "app-server"}, target: "agent", made: true},
		"an agent":           {argv: proxyArgv, target: "agent"},
		"an agent, shouted":  {argv: proxyArgv, target: "agent", shout: true},
		"the thread":         {argv: proxyArgv, target: "thread"},
		"an agent of itself": {argv: proxyArgv, target: "own", made: true},
		"an agent of itself that the client has opened": {argv: proxyArgv, target: "opened", made: true},
	} {
		if !isSampledName(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: gitConfig, mute: "many"})
			a := w.newAcceptingEditor(test.argv...)
			loose := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			caller := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
			target := loose
			switch test.target {
			case "agent":
				target, _ = a.spawnAgent(loose, "SAY: hello")
			case "own", "opened":
				caller = loose
				target, _ = a.spawnAgent(loose, "SAY: hello")
				if test.target == "opened" {
					a.must("thread/resume", map[string]any{"threadId": target})
				}
			default:
				a.turn(loose, "SAY: hello")
			}
			named := target
			if test.shout {
				named = strings.ToUpper(target)
			}
			for _, call := range []string{`multi_agent_v1/send_input {"target":"` + named + `","message":"RUN: touch made"}`, `multi_agent_v1/resume_agent {"id":"` + named + `"}`} {
				turn, mark := a.startTurn(caller, "CALL: "+call)
				a.waitTurn(caller, turn, mark)
				if refused := strings.Contains(w.lastToolOutput(), "is not one of this session"); refused == test.made {
					t.Errorf("%s: the model got %q", call, w.lastToolOutput())
				}
				if !test.made || strings.Contains(call, "resume_agent") {
					continue
				}
				if _, err := a.Wait(a.ctx, mark, func(m editor.Message) bool { return m.Method == "turn/completed" && m.Param("threadId") == target }); err != nil {
					t.Fatal(err)
				}
			}
			if !test.made {
				time.Sleep(time.Second) // time for an agent to work
			}
			if w.hasFile("workspace/made") != test.made {
				t.Errorf("the agent worked: %v", !test.made)
			}
			a.closeAndWait()
		})
	}
}

// waitAgentTurn waits for the end of a turn of the thread's agent and returns the agent's id.
func (a *acceptingEditor) waitAgentTurn(thread string, mark int) string {
	a.t.Helper()
	m := a.waitFor(mark, "turn/completed", func(m editor.Message) bool { return m.Param("threadId") != thread })
	return m.Param("threadId")
}

// A turn starts an agent. A later turn with fewer permissions can't use that agent.
func TestAgentOfEarlierTurn(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	sandbox := func(kind string, network bool) object {
		return object{"sandboxPolicy": object{"type": kind, "networkAccess": network}}
	}
	for name, test := range map[string]struct {
		argv           []string
		approval       string // of the thread
		earlier, later object
		made           bool
	}{
		"codex alone": {argv: []string{codexPath, "app-server"}, later: sandbox("readOnly", false), made: true},
		"read-only":   {later: sandbox("readOnly", false)},
		"network":     {earlier: sandbox("workspaceWrite", true), later: sandbox("workspaceWrite", false)},
		"approvals":   {approval: "never", later: object{"approvalPolicy": "untrusted"}},
		"the same":    {earlier: sandbox("workspaceWrite", true), later: sandbox("workspaceWrite", true), made: true},
		"no change":   {made: true},
		"narrower":    {earlier: sandbox("readOnly", false), later: sandbox("workspaceWrite", false), made: true},
		"cwd":         {earlier: object{"cwd": "lib"}, later: object{"cwd": "workspace"}},
		"reviewer":    {earlier: object{"approvalsReviewer": "auto_review"}, later: object{"approvalsReviewer": "user"}},
	} {
		if !isSampledName(3, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lib := t.TempDir()
			w := newWorld(t, options{config: fmt.Sprintf("[policy]\napproval = [\"untrusted\", \"on-request\", \"never\"]\nsandbox = \"workspace-write\"\nnetwork = true\nwritable_roots = [\"${workspace}\", %q]\nreviewers = [\"user\", \"auto_review\"]\n", lib), mute: "many"})
			if test.argv == nil {
				test.argv = proxyArgv
			}
			a := w.newAcceptingEditor(test.argv...)
			thread := a.thread(object{"approvalPolicy": cmp.Or(test.approval, "on-request"), "sandbox": "workspace-write"})
			for _, turn := range []object{test.earlier, test.later} {
				if name, ok := turn["cwd"]; ok {
					turn["cwd"] = map[any]string{"lib": lib, "workspace": w.workspace}[name]
					turn["runtimeWorkspaceRoots"] = []any{turn["cwd"]}
				}
			}
			turn, mark := a.startTurnWith(thread, `CALL: multi_agent_v1/spawn_agent {"message":"SAY: hello"}`, test.earlier)
			a.waitTurn(thread, turn, mark)
			child := a.waitAgentTurn(thread, mark)
			turn, mark = a.startTurnWith(thread, `CALL: multi_agent_v1/send_input {"target":"`+child+`","message":"RUN: touch made; pwd"}`, test.later)
			a.waitTurn(thread, turn, mark)
			if test.made {
				a.waitAgentTurn(thread, mark)
			} else if !strings.Contains(w.lastToolOutput(), "works with other settings than this turn") {
				t.Errorf("the model got %q", w.lastToolOutput())
			}
			_, err := os.Stat(filepath.Join(lib, "made"))
			if made := w.hasFile("workspace/made") || err == nil; made != (test.made && name != "narrower") {
				t.Errorf("the agent wrote: %v; the model got %q", made, w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}

// With version 2 an agent has a name. It gets no work from a thread whose earlier turns had another
// sandbox: the turn that started it is unknown.
func TestNamedAgentOfEarlierTurn(t *testing.T) {
	t.Parallel()
	for later, made := range map[string]bool{"readOnly": false, "workspaceWrite": true} {
		t.Run(later, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{mute: "many", config: gitConfig, codexConfig: "[features.multi_agent_v2]\nenabled = true\ntool_namespace = \"team\"\n"})
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			turn, mark := a.startTurn(thread, `CALL: team/spawn_agent {"task_name":"a","message":"SAY: hello","fork_turns":"none"}`)
			a.waitTurn(thread, turn, mark)
			a.waitAgentTurn(thread, mark)
			turn, mark = a.startTurnWith(thread, `CALL: team/followup_task {"target":"a","message":"RUN: touch made"}`, map[string]any{"sandboxPolicy": map[string]any{"type": later}})
			a.waitTurn(thread, turn, mark)
			if made {
				a.waitAgentTurn(thread, mark)
			}
			if refused := strings.Contains(w.lastToolOutput(), "can't be identified"); refused == made {
				t.Errorf("the model got %q", w.lastToolOutput())
			}
			if !made && w.hasFile("workspace/made") {
				t.Error("the agent wrote")
			}
			a.closeAndWait()
		})
	}
}

// Most models call spawn_agent with a namespace in front, and the hook gets both as the name. A rule for spawn_agent denies it.
func TestRuleDeniesAgentInNamespace(t *testing.T) {
	t.Parallel()
	for decision, refused := range map[string]bool{"deny": true, "allow": false} {
		t.Run(decision, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{
				mute: "many", config: "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\n[[policy.rule]]\ntool = \"spawn_agent\"\ndecision = \"" + decision + "\"\n",
				codexConfig: "[features.multi_agent_v2]\nenabled = true\ntool_namespace = \"team\"\n",
			})
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request"})
			a.runTurn(thread, `CALL: team/spawn_agent {"task_name":"a","message":"SAY: hello","fork_turns":"none"}`)
			if told := w.lastToolOutput(); strings.Contains(told, "a rule says deny") != refused {
				t.Errorf("the model got %q", told)
			}
			a.closeAndWait()
		})
	}
}

// The client opens an agent's thread and raises it without a turn. The agent gets no work from a
// thread with fewer permissions.
func TestRaisedAgent(t *testing.T) {
	t.Parallel()
	for _, raised := range []bool{false, true} {
		t.Run(fmt.Sprint(raised), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: gitConfig, mute: "many"})
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
			agent, _ := a.spawnAgent(thread, "SAY: hello")
			a.must("thread/resume", map[string]any{"threadId": agent})
			if raised {
				mark := a.Mark()
				a.must("thread/settings/update", map[string]any{"threadId": agent, "sandboxPolicy": map[string]any{"type": "workspaceWrite"}})
				a.waitFor(mark, "thread/settings/updated", func(m editor.Message) bool { return m.Param("threadId") == agent })
			}
			turn, mark := a.startTurn(thread, `CALL: multi_agent_v1/send_input {"target":"`+agent+`","message":"RUN: touch made"}`)
			a.waitTurn(thread, turn, mark)
			if !raised {
				a.waitAgentTurn(thread, mark)
			}
			if refused := strings.Contains(w.lastToolOutput(), "works with other settings than this turn"); refused != raised {
				t.Errorf("the model got %q", w.lastToolOutput())
			}
			if w.hasFile("workspace/made") {
				t.Error("the agent wrote")
			}
			a.closeAndWait()
		})
	}
}
