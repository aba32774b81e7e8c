package guard

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rollout"
)

// The settings of a subagent's turn are looked up once, because later they may be too far from the
// end of the file. Missing settings are looked up again.
func TestChildSettingsAreLookedUpOnceATurn(t *testing.T) {
	w := newAgentWorld(t, nil)
	const id = "01900000-0000-7000-8000-000000000001"
	turn := func(name, model string) string {
		return `{"type":"turn_context","payload":{"turn_id":"` + name + `","model":"` + model + `"}}` + "\n"
	}
	path := w.write("home/sessions/2024/06/10/rollout-2024-06-10T02-35-18-"+id+".jsonl", turn("u1", "m1"))
	one := func() *child {
		if known := w.g.threads.child(id); known != nil {
			return known
		}
		return &child{Subagent: rollout.Subagent{Path: path}}
	}
	expect := func(when, turn, want string) {
		t.Helper()
		got := ""
		if settings := w.g.childTurnSettings(id, turn, one()); settings != nil {
			got, _ = settings.Root().Get("model").Text()
		}
		if got != want {
			t.Errorf("%s: turn %q has %q, want %q", when, turn, got, want)
		}
	}
	expect("before it is written", "u2", "")
	w.write("home/sessions/2024/06/10/rollout-2024-06-10T02-35-18-"+id+".jsonl", turn("u1", "m1")+turn("u2", "m2"))
	expect("then", "u2", "m2")
	expect("the last one", "", "m2")
	w.write("home/sessions/2024/06/10/rollout-2024-06-10T02-35-18-"+id+".jsonl", turn("u3", "m3"))
	expect("when it is gone from the file", "u2", "m2")
	expect("the last one, later", "", "m3")
	expect("when it is gone from the file, later", "u2", "m2")
	expect("another turn", "u3", "m3")
	expect("one that was never there", "u4", "")
}

// At most maxChildren threads are stored. Others are looked up again.
func TestChildrenAreBounded(t *testing.T) {
	var all threads
	for i := range maxChildren {
		all.setChild(strconv.Itoa(i), new(child))
	}
	if len(all.records) != maxChildren {
		t.Errorf("%d are kept", len(all.records))
	}
	all.setChild("more", new(child))
	if len(all.records) > maxChildren || all.child("more") == nil {
		t.Errorf("%d are kept", len(all.records))
	}
}

// The latest maxPatches patches are stored. A second patch with the id of another keeps its
// position, and the paths of both.
func TestPatchesAreBounded(t *testing.T) {
	var p patches
	for i := range maxPatches {
		p.add(patch{"t", "u", strconv.Itoa(i)}, []string{"a"})
		p.add(patch{"t", "u", strconv.Itoa(i)}, []string{"b"})
	}
	if got := p.get(patch{"t", "u", "0"}); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the first: %q", got)
	}
	p.add(patch{"t", "u", "more"}, []string{"c"})
	if first, second := p.get(patch{"t", "u", "0"}), p.get(patch{"t", "u", "1"}); first != nil || second == nil || p.get(patch{"t", "u", "more"}) == nil {
		t.Errorf("after one more: the first has %q, the second %q", first, second)
	}
	if got := p.get(patch{"t", "v", "more"}); got != nil || len(p.order) != len(p.paths) {
		t.Errorf("a forgotten patch has %q; %d of %d are listed", got, len(p.order), len(p.paths))
	}
	if got := pathsOf(value(t, `[{"path":"a","kind":{"type":"update","move_path":"b"}},{"path":"c","kind":{"type":"add"}}]`)); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("the paths of a move: %q", got)
	}
}

// Each project whose configuration Codex may have loaded is stored until the bridge ends, and
// counts for every thread.
func TestProjectsOfReopenedThread(t *testing.T) {
	w := newAgentWorld(t, func(p *config.Policy) { p.Mode = config.Audit })
	result := value(t, `{"thread":{"id":"t"},"cwd":"`+w.root+`"}`)
	for _, test := range []struct {
		project string
		want    []string
	}{
		{"", nil},
		{"/a", []string{"/a"}},
		{"/a", []string{"/a"}},
		{"/b", []string{"/a", "/b"}},
		{"", []string{"/a", "/b"}},
	} {
		w.g.threads.recordSent(test.project, nil)
		if err := w.g.threads.registerOpened(w.g.Policy, w.g, openedThread{sent: &policy.SentSettings{Project: test.project}, result: result, world: w.g.world, order: 1}); err != nil {
			t.Fatal(err)
		}
		if got := w.g.threads.peek("t").Projects; !slices.Equal(got, test.want) {
			t.Errorf("opened with %q it has %q, want %q", test.project, got, test.want)
		}
	}
	w.g.threads.apply("t", threadUnloaded{})
	if err := w.g.threads.registerOpened(w.g.Policy, w.g, openedThread{sent: &policy.SentSettings{}, result: value(t, `{"thread":{"id":"u"},"cwd":"`+w.root+`"}`), world: w.g.world, order: 1}); err != nil {
		t.Fatal(err)
	}
	if got := w.g.threads.peek("u").Projects; !slices.Equal(got, []string{"/a", "/b"}) {
		t.Errorf("another thread has %q", got)
	}
}

// A thread that Codex may still have loaded keeps its workspaces and policies. An unloaded thread
// keeps its workspaces, where its agents may still work.
func TestUnverifiedThreadKeepsItsWorkspaces(t *testing.T) {
	w := newAgentWorld(t, func(p *config.Policy) { p.Mode = config.Audit })
	threads := &w.g.threads
	own := w.g.Policy()
	if err := threads.registerOpened(w.g.Policy, w.g, openedThread{sent: &policy.SentSettings{}, result: value(t, `{"thread":{"id":"t"},"cwd":"`+w.root+`"}`), world: w.g.world, order: 1, own: []*policy.Policy{own}}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name     string
		change   event
		policies int
	}{{"unverified", threadRevoked{}, 1}, {"unloaded", threadUnloaded{}, 0}} {
		threads.apply("t", step.change)
		if threads.peek("t") != nil || len(threads.workspacesOf("t")) != 1 || len(threads.extraPoliciesOf("t")) != step.policies {
			t.Errorf("%s: %v, %q, %d policies", step.name, threads.peek("t"), threads.workspacesOf("t"), len(threads.extraPoliciesOf("t")))
		}
	}
}

// The writable folders of a thread are recorded when it is opened. If one of its policies refuses
// the thread, it is not opened, and nothing is recorded.
func TestOpenedThreadIsVerifiedAgainstAllPolicies(t *testing.T) {
	w := newAgentWorld(t, func(p *config.Policy) { p.Mode = config.Audit })
	enforced := newAgentWorld(t, nil).g.Policy()
	result := value(t, `{"thread":{"id":"t"},"cwd":"`+w.root+`","approvalPolicy":"never","sandbox":{"type":"workspaceWrite","writableRoots":[],"networkAccess":false}}`)
	threads := &w.g.threads
	for _, test := range []struct {
		own  []*policy.Policy
		open bool
	}{{[]*policy.Policy{enforced}, false}, {[]*policy.Policy{w.g.Policy()}, true}} {
		err := threads.registerOpened(w.g.Policy, w.g, openedThread{sent: &policy.SentSettings{}, result: result, world: w.g.world, order: 1, own: test.own})
		if (err == nil) != test.open || (threads.peek("t") != nil) != test.open || slices.Contains(threads.writableOf("t"), w.root) != test.open {
			t.Errorf("open %v, writable %q: %v", threads.peek("t") != nil, threads.writableOf("t"), err)
		}
	}
}

// A call may not have the id of an earlier one of its turn.
func TestStartedCalls(t *testing.T) {
	var s startedCalls
	turn := turnOf{"t", "1"}
	for i, one := range []struct {
		at   turnOf
		id   string
		want bool
	}{
		{turn, "a", true},
		{turn, "a", false},
		{turn, "b", true},
		{turn, "a", false},
		{turnOf{"t", "2"}, "a", true},
		{turnOf{"u", "1"}, "a", true},
		{turn, "", true},
		{turn, "", false},
		{turn, strings.Repeat("x", 5000), true},
		{turn, strings.Repeat("x", 5001), true},
		{turn, strings.Repeat("x", 5000), false},
	} {
		if got := s.start(one.at, one.id); got != one.want {
			t.Errorf("call %d: may run: %t", i, got)
		}
	}
	s.set(turn, "a", rollout.Call{Shell: "sh"})
	s.set(turnOf{"none", "1"}, "a", rollout.Call{Shell: "sh"})
	if call, started := s.get(turn, "a"); !started || call.Shell != "sh" {
		t.Errorf("the call is %+v, started %t", call, started)
	}
	for _, none := range []turnOf{{"none", "1"}, {"t", "3"}} {
		if _, started := s.get(none, "a"); started {
			t.Errorf("a call of %v was started", none)
		}
	}
}

// The turn in which no call was started for the longest time is forgotten first.
func TestStartedCallsAreBounded(t *testing.T) {
	var s startedCalls
	first, second := turnOf{"t", "1"}, turnOf{"t", "2"}
	s.start(first, "a")
	s.start(second, "a")
	for i := range maxCallTurns - 2 {
		s.start(turnOf{"more", strconv.Itoa(i)}, "a")
	}
	s.start(first, "b") // a turn may run for a long time
	s.start(turnOf{"last", "1"}, "a")
	if s.start(first, "a") || len(s.turns) != maxCallTurns || len(s.order) != maxCallTurns || s.turns[second] != nil {
		t.Errorf("%d turns are kept, %d listed", len(s.turns), len(s.order))
	}
	var filled startedCalls
	filled.start(turnOf{"t", "first"}, "a")
	for n := range maxCalls/maxCallsOfTurn + 1 {
		full := turnOf{"t", strconv.Itoa(n)}
		for i := range maxCallsOfTurn {
			filled.start(full, strconv.Itoa(i))
		}
		if filled.start(full, "more") {
			t.Error("the number of ids in a turn is not limited")
		}
	}
	if len(filled.turns) != maxCalls/maxCallsOfTurn {
		t.Errorf("%d turns are kept", len(filled.turns))
	}
	sum := 0
	for _, calls := range filled.turns {
		sum += len(calls)
	}
	if sum != filled.total || sum != maxCalls || len(filled.order) != len(filled.turns) {
		t.Errorf("%d ids are kept, %d counted", sum, filled.total)
	}
}
