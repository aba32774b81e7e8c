package guard

import (
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// A revoked thread keeps its record until Codex has unloaded it.
func TestLoadedThread(t *testing.T) {
	workspace, readOnly := policy.Thread{ID: "t", SandboxSummary: "workspace-write"}, policy.Thread{ID: "t", SandboxSummary: "read-only"}
	for _, test := range []struct {
		name   string
		change func(t *threads)
		varied bool
	}{
		{"nothing", func(*threads) {}, false},
		{"verified again", func(t *threads) { t.loaded("t").setVerified(workspace) }, false},
		{"verified with another sandbox", func(t *threads) { t.loaded("t").setVerified(readOnly) }, true},
		{"and with the first one again", func(t *threads) { t.loaded("t").setVerified(readOnly); t.loaded("t").setVerified(workspace) }, true},
		{"unsubscribed", func(t *threads) { t.unsubscribe("t", true) }, true},
		{"unverified", func(t *threads) { t.apply("t", threadRevoked{}) }, true},
		{"unloaded", func(t *threads) { t.apply("t", threadUnloaded{}) }, false},
		{"changed and unloaded", func(t *threads) { t.apply("t", threadRevoked{}); t.apply("t", threadUnloaded{}) }, true}, // an agent may stay loaded
	} {
		t.Run(test.name, func(t *testing.T) {
			var threads threads
			threads.setVerified(map[string]*thread{"t": {Thread: workspace}})
			threads.loadedLocked("t").setVerified(workspace)
			fence := policy.Profile{Defined: true}
			threads.apply("t", profileSent{fence: fence})
			threads.apply("t", profileSent{fence: policy.Profile{}}) // Codex keeps the first one
			test.change(&threads)
			if got := threads.recordLocked("t").isVaried(); got != test.varied {
				t.Errorf("its settings have changed: %v", got)
			}
			if got, unsubscribed := threads.profile("t"); unsubscribed != (test.name == "unsubscribed") || (got == nil) != strings.HasSuffix(test.name, "unloaded") || got != nil && !got.Defined {
				t.Errorf("profile %v, unsubscribed %v", got, unsubscribed)
			}
			if threads.loaded("") != nil {
				t.Error("a thread without an id has a record")
			}
		})
	}
	var none threads
	none.unsubscribe("t", false)
	none.apply("t", threadRevoked{})
	if _, unsubscribed := none.profile("t"); unsubscribed || none.workspacesOf("t") != nil || none.records["t"] != nil {
		t.Error("a thread that the client has not opened has a record")
	}
}

// Codex keeps the profile with which it has loaded a thread, even if a later request defines
// another.
func TestLoadedThreadKeepsItsProfile(t *testing.T) {
	w := newAgentWorld(t, func(p *config.Policy) { p.Mode = config.Audit })
	threads := &w.g.threads
	for _, fence := range []policy.Profile{{Defined: true}, {}} {
		sent := &policy.SentSettings{Profile: fence}
		if err := threads.registerOpened(w.g.Policy, w.g, openedThread{sent: sent, result: value(t, `{"thread":{"id":"t"},"cwd":"`+w.root+`"}`), world: w.g.world, order: 1}); err != nil {
			t.Fatal(err)
		}
		if got, _ := threads.profile("t"); got == nil || !got.Defined {
			t.Errorf("after a request with %+v the profile is %+v", fence, got)
		}
	}
}

// Settings that Codex reports for an unverified thread count as a change.
func TestUnverifiedThreadIsVaried(t *testing.T) {
	w := newAgentWorld(t, nil)
	settings := value(t, `{"approvalPolicy":"on-request"}`)
	for _, has := range []bool{true, false} {
		var threads threads
		if has {
			threads.loadedLocked("t")
		}
		if err := threads.updateSettings(w.g.Policy, w.g, "t", settings); err != nil || threads.recordLocked("t").isVaried() != has {
			t.Errorf("with a record %v: %v, varied %v", has, err, threads.recordLocked("t").isVaried())
		}
	}
}

// A loaded thread has the profile of its own record, or of its parent. Otherwise its profile is
// unknown.
func TestLoadedProfile(t *testing.T) {
	const parent, child, other = "01900000-0000-7000-8000-00000000000a", "01900000-0000-7000-8000-00000000000b", "01900000-0000-7000-8000-00000000000c"
	const grandchild = "01900000-0000-7000-8000-00000000000d"
	has := func(name string) policy.Profile { return policy.Profile{Defined: true, Roots: []string{name}} }
	for _, test := range []struct {
		name   string
		change func(t *threads)
		id     string
		loaded string // Codex's answer
		want   string // nil, unknown or the name of the profile
	}{
		{"parent loaded", func(t *threads) { t.apply(parent, profileSent{fence: has("parent")}) }, child, `"result":{"data":["` + child + `"]}`, "parent"},
		{"not loaded", func(t *threads) { t.apply(parent, profileSent{fence: has("parent")}) }, child, `"result":{"data":["` + parent + `"]}`, "nil"},
		{"no record of the parent", func(*threads) {}, child, `"result":{"data":["` + child + `"]}`, "unknown"},
		{"parent unloaded", func(t *threads) {
			t.apply(parent, profileSent{fence: has("parent")})
			t.apply(parent, threadUnloaded{})
		}, child, `"result":{"data":["` + child + `"]}`, "parent"},
		{"parent unloaded and resumed alike", func(t *threads) {
			t.apply(parent, profileSent{fence: has("parent")})
			t.apply(parent, threadUnloaded{})
			t.apply(parent, profileSent{fence: has("parent")})
		}, child, `"result":{"data":["` + child + `"]}`, "parent"},
		{"parent unloaded and resumed", func(t *threads) {
			t.apply(parent, profileSent{fence: has("parent")})
			t.apply(parent, threadUnloaded{})
			t.apply(parent, profileSent{fence: has("later")})
		}, child, `"result":{"data":["` + child + `"]}`, "unknown"},
		{"agent of an agent", func(t *threads) { t.apply(parent, profileSent{fence: has("parent")}) }, grandchild, `"result":{"data":["` + grandchild + `"]}`, "parent"},
		{"agent of an agent that the client has opened", func(t *threads) {
			t.apply(parent, profileSent{fence: has("parent")})
			t.apply(child, profileSent{fence: has("child")})
		}, grandchild, `"result":{"data":["` + grandchild + `"]}`, "child"},
		{"another thread", func(t *threads) { t.apply(parent, profileSent{fence: has("parent")}) }, other, `"result":{"data":["` + other + `"]}`, "unknown"},
		{"no list", func(t *threads) { t.apply(parent, profileSent{fence: has("parent")}) }, other, `"error":{"code":-32600,"message":"no"}`, "unknown"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newAgentWorld(t, nil)
			for id, parentID := range map[string]string{child: parent, grandchild: child} {
				w.write("home/sessions/2024/06/10/rollout-2024-06-10T02-35-18-"+id+".jsonl", `{"type":"session_meta","payload":{"session_id":"`+parent+`","id":"`+id+
					`","parent_thread_id":"`+parentID+`","cwd":"`+w.root+`","source":{"subagent":{"thread_spawn":{"parent_thread_id":"`+parentID+`","depth":1}}},"thread_source":"subagent"}}`+"\n")
			}
			w.start()
			test.change(&w.g.threads)
			found := make(chan *policy.Profile, 1)
			go func() { found <- w.g.loadedProfile(t.Context(), test.id) }()
			w.answer("thread/loaded/list", `{"limit":1000}`, test.loaded)
			got := "nil"
			if fence := <-found; fence != nil {
				got = "unknown"
				if fence.Defined {
					got = fence.Roots[0]
				}
			}
			if got != test.want {
				t.Errorf("the profile is %s, want %s", got, test.want)
			}
		})
	}
}

// The guard uses the profile of a thread for a resume, and for no other method.
func TestProfileOfResumedThread(t *testing.T) {
	for _, mode := range []config.Mode{config.Enforce, config.Audit} {
		w := newAgentWorld(t, func(p *config.Policy) { p.Mode = mode })
		w.g.threads.setVerified(map[string]*thread{"t": {Thread: policy.Thread{ID: "t"}}})
		w.start()
		w.g.threads.apply("t", profileSent{fence: policy.Profile{Roots: []string{"own"}}})
		for method, want := range map[string]bool{"thread/resume": true, "thread/fork": false} {
			m, err := rpc.ParseMessage([]byte(`{"id":1,"method":"` + method + `","params":{"threadId":"t"}}`))
			if err != nil {
				t.Fatal(err)
			}
			fence := w.g.stateFor(t.Context(), w.g.Policy(), m).LoadedProfile
			if got := fence != nil && slices.Equal(fence.Roots, []string{"own"}); got != want {
				t.Errorf("%s: %s has the profile %+v", mode, method, fence)
			}
		}
	}
}

// A thread that a client may have opened without an enforced policy does not count as opened under
// one.
func TestThreadLoadedWithoutEnforcement(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(t *threads)
		want bool // it can be resumed
	}{
		{"nothing", func(*threads) {}, true},
		{"opened under audit", func(t *threads) { t.apply("t", openedUnenforced{}) }, true},
		{"unsubscribed", func(t *threads) { t.unsubscribe("t", true) }, true},
		{"unsubscribed, and opened under audit", func(t *threads) { t.unsubscribe("t", true); t.apply("t", openedUnenforced{}) }, false},
		{"the policy was off", func(t *threads) { t.applyAll(guardSwitchedOff{}) }, false},
		{"another thread was opened", func(t *threads) { t.apply("u", openedUnenforced{}) }, true},
	} {
		var threads threads
		first, again := openedEnforced{}, openedEnforced{wasLoaded: true}
		if threads.apply("t", &first); first.isRefused {
			t.Fatal("a thread that Codex had not loaded is refused")
		}
		test.do(&threads)
		if threads.apply("t", &again); again.isRefused == test.want {
			t.Errorf("%s: it is refused: %v", test.name, again.isRefused)
		}
	}
}
