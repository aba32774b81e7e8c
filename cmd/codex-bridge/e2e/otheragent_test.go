//go:build linux

package e2e_test

import (
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
			case "own":
				caller = loose
				target, _ = a.spawn(loose, "SAY: hello")
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

// A thread starts an agent while it can write. A later read-only turn can't write by means of that agent.
func TestAgentOfEarlierTurn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		argv []string
		turn string // the sandbox of the later turn
		made bool
	}{
		"codex alone": {[]string{codexPath, "app-server"}, "readOnly", true}, "narrower": {proxyArgv, "readOnly", false}, "the same": {proxyArgv, "workspaceWrite", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: gitConfig, mute: "many"})
			a := w.agreeable(test.argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			child, _ := a.spawn(thread, "SAY: hello")
			turn, mark := a.beginWith(thread, `CALL: multi_agent_v1/send_input {"target":"`+child+`","message":"RUN: touch made"}`,
				map[string]any{"sandboxPolicy": map[string]any{"type": test.turn}})
			a.end(thread, turn, mark)
			if test.made {
				if _, err := a.Wait(a.ctx, mark, func(m editor.Message) bool { return m.Method == "turn/completed" && m.Param("threadId") == child }); err != nil {
					t.Fatal(err)
				}
			} else if !strings.Contains(w.told(), "has a wider sandbox than this turn") {
				t.Errorf("the model was told %q", w.told())
			}
			if w.left("workspace/made") != test.made {
				t.Errorf("the agent has written: %v", !test.made)
			}
			a.quit()
		})
	}
}
