package guard

import (
	"encoding/json"
	"fmt"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rollout"
	"codex-bridge.example/rpc"
)

// closes handles a notification that Codex has unloaded a thread.
func (w *agentWorld) closes(method, id string) {
	w.t.Helper()
	line := []byte(`{"method":"` + method + `","params":{"threadId":"` + id + `"}}`)
	e, err := rpc.ParseEnvelope(line)
	if err != nil {
		w.t.Fatal(err)
	}
	w.g.threadUnloaded(w.t.Context(), &bridge.ServerMessage{Envelope: e, Line: line})
}

// forgets lets the guard look for threads that have ended, while Codex has the given ones in memory.
func (w *agentWorld) forgets(loaded ...string) {
	w.t.Helper()
	data, _ := json.Marshal(append([]string{}, loaded...))
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.g.forgetEnded(w.t.Context())
	}()
	w.answer("thread/loaded/list", `{"limit":1000}`, `"result":{"data":`+string(data)+`}`)
	<-done
}

// The guard's memory does not grow with the number of threads that were opened and closed.
func TestEndedThreadsAreForgotten(t *testing.T) {
	w := newAgentWorld(t, func(p *config.Policy) { p.Mode = config.Audit })
	w.start()
	other := w.g.Join(NoRecord, w.g.log)
	threads := &w.g.threads
	sandbox := `,"approvalPolicy":"untrusted","sandbox":{"type":"workspaceWrite","writableRoots":[],"networkAccess":false}`
	for i := range 10_000 {
		id := fmt.Sprint("t", i)
		done := threads.beginOpening(id)
		change := threads.beginGateChange(id, new(bool))
		o := openedThread{sent: &policy.SentSettings{}, world: w.g.world, order: 1, result: value(t, `{"thread":{"id":"`+id+`"},"cwd":"`+w.root+`"`+sandbox+`}`)}
		if err := threads.registerOpened(w.g.Policy, w.g, o); err != nil {
			t.Fatal(err)
		}
		threads.apply(id, overlayAnswered{policies: []*policy.Policy{w.g.Policy()}, outcome: bridge.Succeeded})
		threads.endGateChange(change, bridge.Succeeded)
		done()
		for _, client := range []*Guard{w.g, other} {
			_ = threads.updateSettings(w.g.Policy, client, id, value(t, `{"cwd":"`+w.root+`","approvalPolicy":"never"}`))
		}
		agent := "agent of " + id
		threads.makeWritable(agent, []string{w.root})
		_ = threads.updateSettings(w.g.Policy, w.g, agent, value(t, `{"cwd":"`+w.root+`"}`))
		w.g.calls.start(turnOf{id, "u"}, "call")
		w.g.calls.start(turnOf{agent, "u"}, "call")
		w.g.patches.add(patch{id, "u", "i"}, []string{"/x"})
		w.closes([]string{"thread/closed", "thread/archived", "thread/deleted"}[i%3], id)
		if threads.idle() != nil {
			w.forgets()
		}
	}
	if len(threads.records) >= 2*minIdle || len(w.g.calls.turns) >= minIdle || len(w.g.calls.order) != len(w.g.calls.turns) || w.g.calls.total != len(w.g.calls.turns) {
		t.Errorf("%d records, %d turns, %d calls", len(threads.records), len(w.g.calls.turns), w.g.calls.total)
	}
	if n := len(threads.starting) + len(w.g.patches.paths) + len(w.g.patches.order) + len(threads.workspaces()); n != 0 {
		t.Errorf("%d other entries", n)
	}
}

// fill adds records of threads that have ended, so that the guard looks for such.
func (w *agentWorld) fill() {
	for i := range minIdle {
		w.g.threads.loadedLocked(fmt.Sprint("ended", i))
	}
}

// A thread is not forgotten while Codex has it or one of its agents in memory, or a thread of which neither
// is known. So the agent of an unloaded thread gets no answer and no looser profile.
func TestThreadWithAgentIsNotForgotten(t *testing.T) {
	const parent, child, other = "01900000-0000-7000-8000-00000000000a", "01900000-0000-7000-8000-00000000000b", "01900000-0000-7000-8000-00000000000c"
	const grandchild = "01900000-0000-7000-8000-00000000000d"
	question := `{"threadId":"` + grandchild + `","turnId":"u","itemId":"i"}`
	for name, test := range map[string]struct {
		loaded []string
		before func(w *agentWorld)
		kept   bool
	}{
		"nothing is loaded":         {nil, nil, false},
		"it is loaded":              {[]string{parent}, nil, true},
		"its agent is":              {[]string{child}, nil, true},
		"an agent of its agent is":  {[]string{grandchild}, nil, true},
		"an unknown thread is":      {[]string{other}, nil, true},
		"another thread is":         {[]string{other}, func(w *agentWorld) { w.g.threads.recordLocked(other).openedByClient = true }, false},
		"it is being resumed":       {nil, func(w *agentWorld) { w.g.threads.beginOpening(parent) }, true},
		"its gate is being changed": {nil, func(w *agentWorld) { w.g.threads.beginGateChange(parent, new(bool)) }, true},
		"another client resumes it": {nil, func(w *agentWorld) { _, _ = w.g.threads.beginResume(w.t.Context(), parent, w.g, nil) }, true},
		"it takes turns":            {nil, func(w *agentWorld) { w.g.threads.recordLocked(parent).allow(&thread{}) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAgentWorld(t, nil)
			for id, parentID := range map[string]string{child: parent, grandchild: child} {
				w.write("home/sessions/2024/06/10/rollout-2024-06-10T02-35-18-"+id+".jsonl", `{"type":"session_meta","payload":{"session_id":"`+parent+`","id":"`+id+
					`","parent_thread_id":"`+parentID+`","cwd":"`+w.root+`","source":{"subagent":{"thread_spawn":{"parent_thread_id":"`+parentID+`","depth":1}}},"thread_source":"subagent"}}`+"\n")
			}
			w.start()
			w.g.threads.recordLocked(parent).openedByClient = true
			w.g.threads.apply(parent, profileSent{fence: policy.Profile{Defined: true}})
			w.g.threads.apply(parent, threadUnloaded{})
			w.fill()
			if test.before != nil {
				test.before(w)
			}
			w.forgets(test.loaded...)
			if kept := w.g.threads.records[parent] != nil; kept != test.kept {
				t.Errorf("it is kept: %v", kept)
			}
			if w.g.threads.records[parent] != nil && name != "it takes turns" && !w.g.isRevoked(value(t, question)) {
				t.Error("a question of its agent does not count as one of a revoked thread")
			}
		})
	}
}

// A thread whose record has changed since the guard looked at it is not forgotten.
func TestChangedThreadIsNotForgotten(t *testing.T) {
	w := newAgentWorld(t, nil)
	w.fill()
	threads := &w.g.threads
	for i := range 3 {
		threads.makeWritable(fmt.Sprint("agent", i), []string{"/a"})
	}
	idle := threads.idle()
	threads.unsubscribe("ended0", true)
	threads.makeWritable("agent0", []string{"/b"})
	threads.recordLocked("agent1").openedByClient = true
	if ids := threads.forget(idle); len(ids) != minIdle {
		t.Errorf("%d threads are forgotten", len(ids))
	}
	if threads.records["ended0"] == nil || threads.records["agent1"] == nil || len(threads.writableOf("agent0")) != 2 || threads.writableOf("agent2") != nil {
		t.Errorf("%d records, folders %q and %q", len(threads.records), threads.writableOf("agent0"), threads.writableOf("agent2"))
	}
	if threads.idle() != nil || threads.forgetAt != 6 {
		t.Errorf("the guard looks again at %d", threads.forgetAt)
	}
}

// A call or a patch of another thread is not forgotten with a thread.
func TestCallsOfAnotherThread(t *testing.T) {
	w := newAgentWorld(t, nil)
	for _, id := range []string{"a", "b"} {
		w.g.calls.start(turnOf{id, "u"}, "call")
		w.g.calls.set(turnOf{id, "u"}, "call", rollout.Call{Command: id})
		w.g.patches.add(patch{id, "u", "i"}, []string{"/" + id})
	}
	w.closes("thread/closed", "a")
	if _, started := w.g.calls.get(turnOf{"a", "u"}, "call"); started || w.g.patches.get(patch{"a", "u", "i"}) != nil {
		t.Error("a call or a patch of an unloaded thread is known")
	}
	if call, _ := w.g.calls.get(turnOf{"b", "u"}, "call"); call.Command != "b" || len(w.g.patches.get(patch{"b", "u", "i"})) != 1 {
		t.Error("a call or a patch of another thread is not known")
	}
}

// The guard looks for threads that have ended before another one opens.
func TestOpeningForgetsEndedThreads(t *testing.T) {
	w := newAgentWorld(t, nil)
	w.start()
	w.fill()
	w.c.Play("opens", `editor> {"id":2,"method":"thread/start","params":{"cwd":"`+w.root+`"}}
codex<  {"id":"$list","method":"thread/loaded/list","params":{"limit":1000}}
codex>  {"id":"$list","result":{"data":[]}}
codex<  {"id":"$next","method":"config/read","params":"$params"}
`)
	w.g.threads.mu.Lock()
	defer w.g.threads.mu.Unlock()
	if n := len(w.g.threads.records); n != 0 {
		t.Errorf("%d records are left", n)
	}
}
