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

	"codex-bridge/cmd/internal/editor"
)

// The model of a read-only thread gives work to an agent of a thread that can write, or to that thread
// itself. Codex lets it; with the bridge a model reaches the agents of its own session alone.
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: gitConfig, mute: "many"})
			a := w.agreeable(test.argv...)
			loose := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			caller := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
			target := loose
			switch test.target {
			case "agent":
				target, _ = a.spawn(loose, "SAY: hello")
			case "own", "opened":
				caller = loose
				target, _ = a.spawn(loose, "SAY: hello")
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
				turn, mark := a.begin(caller, "CALL: "+call)
				a.end(caller, turn, mark)
				if refused := strings.Contains(w.told(), "is not one of this session"); refused == test.made {
					t.Errorf("%s: the model was told %q", call, w.told())
				}
				if !test.made || strings.Contains(call, "resume_agent") {
					continue
				}
				if _, err := a.Wait(a.ctx, mark, func(m editor.Message) bool { return m.Method == "turn/completed" && m.Param("threadId") == target }); err != nil {
					t.Fatal(err)
				}
			}
			if !test.made {
				time.Sleep(time.Second) // an agent would work by now
			}
			if w.left("workspace/made") != test.made {
				t.Errorf("the agent has worked: %v", !test.made)
			}
			a.quit()
		})
	}
}

// agentEnds waits until a turn of an agent of the thread ends, and returns the agent's id.
func (a *agreeable) agentEnds(thread string, mark int) string {
	a.t.Helper()
	m := a.waitFor(mark, "turn/completed", func(m editor.Message) bool { return m.Param("threadId") != thread })
	return m.Param("threadId")
}

// A turn starts an agent. A later turn that may do less can't have it done by that agent.
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lib := t.TempDir()
			w := newWorld(t, options{config: fmt.Sprintf("[policy]\napproval = [\"untrusted\", \"on-request\", \"never\"]\nsandbox = \"workspace-write\"\nnetwork = true\nwritable_roots = [\"${workspace}\", %q]\nreviewers = [\"user\", \"auto_review\"]\n", lib), mute: "many"})
			if test.argv == nil {
				test.argv = proxyArgv
			}
			a := w.agreeable(test.argv...)
			thread := a.thread(object{"approvalPolicy": cmp.Or(test.approval, "on-request"), "sandbox": "workspace-write"})
			for _, turn := range []object{test.earlier, test.later} {
				if name, ok := turn["cwd"]; ok {
					turn["cwd"] = map[any]string{"lib": lib, "workspace": w.workspace}[name]
					turn["runtimeWorkspaceRoots"] = []any{turn["cwd"]}
				}
			}
			turn, mark := a.beginWith(thread, `CALL: multi_agent_v1/spawn_agent {"message":"SAY: hello"}`, test.earlier)
			a.end(thread, turn, mark)
			child := a.agentEnds(thread, mark)
			turn, mark = a.beginWith(thread, `CALL: multi_agent_v1/send_input {"target":"`+child+`","message":"RUN: touch made; pwd"}`, test.later)
			a.end(thread, turn, mark)
			if test.made {
				a.agentEnds(thread, mark)
			} else if !strings.Contains(w.told(), "works with other settings than this turn") {
				t.Errorf("the model was told %q", w.told())
			}
			_, err := os.Stat(filepath.Join(lib, "made"))
			if made := w.left("workspace/made") || err == nil; made != (test.made && name != "narrower") {
				t.Errorf("the agent has written: %v; the model was told %q", made, w.told())
			}
			a.quit()
		})
	}
}

// Under version 2 an agent goes by a name. It gets no work from a thread whose earlier turns had another
// sandbox: nothing tells which of them has started it.
func TestNamedAgentOfEarlierTurn(t *testing.T) {
	t.Parallel()
	for later, made := range map[string]bool{"readOnly": false, "workspaceWrite": true} {
		t.Run(later, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{mute: "many", config: gitConfig, codexConfig: "[features.multi_agent_v2]\nenabled = true\ntool_namespace = \"team\"\n"})
			a := w.agreeable(proxyArgv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			turn, mark := a.begin(thread, `CALL: team/spawn_agent {"task_name":"a","message":"SAY: hello","fork_turns":"none"}`)
			a.end(thread, turn, mark)
			a.agentEnds(thread, mark)
			turn, mark = a.beginWith(thread, `CALL: team/followup_task {"target":"a","message":"RUN: touch made"}`, map[string]any{"sandboxPolicy": map[string]any{"type": later}})
			a.end(thread, turn, mark)
			if made {
				a.agentEnds(thread, mark)
			}
			if refused := strings.Contains(w.told(), "can't be told"); refused == made {
				t.Errorf("the model was told %q", w.told())
			}
			if !made && w.left("workspace/made") {
				t.Error("the agent has written")
			}
			a.quit()
		})
	}
}

// The client opens an agent's thread, and raises it without a turn. The agent gets no work from a thread that may
// do less.
func TestRaisedAgent(t *testing.T) {
	t.Parallel()
	for _, raised := range []bool{false, true} {
		t.Run(fmt.Sprint(raised), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: gitConfig, mute: "many"})
			a := w.agreeable(proxyArgv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
			agent, _ := a.spawn(thread, "SAY: hello")
			a.must("thread/resume", map[string]any{"threadId": agent})
			if raised {
				mark := a.Mark()
				a.must("thread/settings/update", map[string]any{"threadId": agent, "sandboxPolicy": map[string]any{"type": "workspaceWrite"}})
				a.waitFor(mark, "thread/settings/updated", func(m editor.Message) bool { return m.Param("threadId") == agent })
			}
			turn, mark := a.begin(thread, `CALL: multi_agent_v1/send_input {"target":"`+agent+`","message":"RUN: touch made"}`)
			a.end(thread, turn, mark)
			if !raised {
				a.agentEnds(thread, mark)
			}
			if refused := strings.Contains(w.told(), "works with other settings than this turn"); refused != raised {
				t.Errorf("the model was told %q", w.told())
			}
			if w.left("workspace/made") {
				t.Error("the agent has written")
			}
			a.quit()
		})
	}
}
