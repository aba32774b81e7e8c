package guard

import (
	"fmt"
	"slices"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// keysPolicy returns an enforced policy with config_keys.
func keysPolicy(t *testing.T, keys ...string) *policy.Policy {
	t.Helper()
	cfg := config.Default().Policy
	cfg.Mode, cfg.ConfigKeys = config.Enforce, keys
	p, err := policy.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A thread resumes only if the policies allow each overlay with which Codex may have loaded it.
func TestRequireOverlay(t *testing.T) {
	const parent, child = "01900000-0000-7000-8000-00000000000a", "01900000-0000-7000-8000-00000000000b"
	loose, strict := keysPolicy(t, "model", "web_search"), keysPolicy(t, "model")
	type policies = []*policy.Policy
	for name, test := range map[string]struct {
		do      func(threads *threads)
		id      string
		created bool
		want    bool
	}{
		"unknown": {func(*threads) {}, parent, false, true},
		"the same policy": {func(t *threads) {
			t.apply(parent, overlayAnswered{policies: policies{strict}, outcome: bridge.Succeeded})
		}, parent, false, true},
		"a looser policy": {func(t *threads) {
			t.apply(parent, overlayAnswered{policies: policies{loose}, outcome: bridge.Succeeded})
		}, parent, false, false},
		"a looser one beside the same": {func(t *threads) {
			t.apply(parent, overlayAnswered{policies: policies{loose, strict}, outcome: bridge.Succeeded})
		}, parent, false, true},
		"another thread": {func(t *threads) {
			t.apply(child, overlayAnswered{policies: policies{loose}, outcome: bridge.Succeeded})
		}, parent, false, true},
		"resumed under a looser policy": {func(t *threads) {
			t.apply(parent, overlayAnswered{policies: policies{strict}, outcome: bridge.Succeeded})
			t.apply(parent, overlayAnswered{policies: policies{loose}, outcome: bridge.Succeeded})
		}, parent, false, true},
		"unsubscribed, resumed under a looser": {func(t *threads) {
			t.apply(parent, overlayAnswered{policies: policies{strict}, outcome: bridge.Succeeded})
			t.unsubscribe(parent, true)
			t.apply(parent, overlayAnswered{policies: policies{loose}, outcome: bridge.Succeeded})
		}, parent, false, false},
		"unloaded": {func(t *threads) {
			t.apply(parent, overlayAnswered{policies: policies{loose}, outcome: bridge.Succeeded})
			t.apply(parent, threadUnloaded{})
		}, parent, false, true},
		"failed under a looser policy": {func(t *threads) {
			t.apply(parent, overlayAnswered{policies: policies{strict}, outcome: bridge.Succeeded})
			t.unsubscribe(parent, true)
			t.apply(parent, overlayAnswered{policies: policies{loose}, outcome: bridge.Failed})
		}, parent, false, false},
		"failed, then resumed under a looser": {func(t *threads) {
			t.apply(parent, overlayAnswered{policies: policies{strict}, outcome: bridge.Succeeded})
			t.apply(parent, threadUnloaded{})
			t.apply(parent, overlayAnswered{policies: policies{strict}, outcome: bridge.Failed})
			t.apply(parent, overlayAnswered{policies: policies{loose}, outcome: bridge.Succeeded})
		}, parent, false, false},
		"unknown, then resumed under a looser": {func(t *threads) {
			t.apply(parent, overlayAnswered{policies: policies{strict}, outcome: bridge.Unknown})
			t.apply(parent, overlayAnswered{policies: policies{loose}, outcome: bridge.Succeeded})
		}, parent, false, false},
		"failed, certain, then a looser": {func(t *threads) {
			t.apply(parent, overlayAnswered{policies: policies{strict}, outcome: bridge.Unknown})
			t.apply(parent, overlayAnswered{policies: policies{strict}, outcome: bridge.Succeeded})
			t.apply(parent, overlayAnswered{policies: policies{loose}, outcome: bridge.Succeeded})
		}, parent, false, true},
		"failed, not known": {func(t *threads) { t.apply(parent, overlayAnswered{policies: policies{loose}, outcome: bridge.Failed}) }, parent, false, true},
		"not loaded": {func(t *threads) {
			t.apply(parent, overlayAnswered{policies: policies{loose}, outcome: bridge.Succeeded})
			t.apply(parent, foundNotLoaded{})
		}, parent, false, true},
		"a subagent": {func(t *threads) {
			t.apply(parent, overlayAnswered{policies: policies{loose}, outcome: bridge.Succeeded})
		}, child, false, false},
		"a subagent of a strict parent": {func(t *threads) {
			t.apply(parent, overlayAnswered{policies: policies{strict}, outcome: bridge.Succeeded})
		}, child, false, true},
		"a subagent of an unloaded parent": {func(t *threads) {
			t.apply(parent, overlayAnswered{policies: policies{loose}, outcome: bridge.Succeeded})
			t.apply(parent, threadUnloaded{})
		}, child, false, false},
		"its parent was loaded again": {func(t *threads) {
			t.apply(parent, overlayAnswered{policies: policies{loose}, outcome: bridge.Succeeded})
			t.apply(parent, threadUnloaded{})
			t.apply(parent, overlayAnswered{policies: policies{strict}, outcome: bridge.Succeeded})
		}, child, false, false},
		"a subagent that Codex had not loaded": {func(t *threads) {
			t.apply(parent, overlayAnswered{policies: policies{loose}, outcome: bridge.Succeeded})
		}, child, true, true},
		"a subagent that was loaded by a client": {func(t *threads) {
			t.apply(child, overlayAnswered{policies: policies{loose}, outcome: bridge.Succeeded})
		}, child, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAgentWorld(t, nil)
			w.write("home/sessions/2024/06/10/rollout-2024-06-10T02-35-18-"+child+".jsonl", `{"type":"session_meta","payload":{"session_id":"`+parent+`","id":"`+child+
				`","parent_thread_id":"`+parent+`","cwd":"`+w.root+`","source":{"subagent":{"thread_spawn":{"parent_thread_id":"`+parent+`","depth":1}}},"thread_source":"subagent"}}`+"\n")
			w.start()
			w.g.policy.Store(strict)
			test.do(&w.g.threads)
			w.g.threads.setVerified(map[string]*thread{test.id: {}})
			err := w.g.requireOverlay("thread/resume", test.id, policies{strict}, test.created)
			if (err == nil) != test.want || (w.g.threads.peek(test.id) != nil) != test.want {
				t.Errorf("resumed: %v, verified: %v", err, w.g.threads.peek(test.id) != nil)
			}
		})
	}
}

// Before a resume, the overlays of a thread are forgotten only if Codex does not have the thread in
// memory. Codex is asked only if a policy does not allow one of them.
func TestOverlaysOfLoadedThread(t *testing.T) {
	const id = "01900000-0000-7000-8000-00000000000a"
	loose, strict := keysPolicy(t, "model", "web_search"), keysPolicy(t, "model")
	for name, test := range map[string]struct {
		opened    *policy.Policy // the policy that decided the request
		list      string         // Codex's answer; "" if it is not asked
		threads   []string
		failed    bool
		forgotten bool
	}{
		"the same policy":           {opened: strict},
		"a looser policy":           {opened: loose, list: `"result":{"data":["` + id + `"],"nextCursor":null}`, threads: []string{id}},
		"a looser one, not loaded":  {opened: loose, list: `"result":{"data":["other"],"nextCursor":null}`, threads: []string{"other"}, forgotten: true},
		"a looser one, none loaded": {opened: loose, list: `"result":{"data":[],"nextCursor":null}`, threads: []string{}, forgotten: true},
		"a looser one, no answer":   {opened: loose, list: `"error":{"code":-32600,"message":"no"}`, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAgentWorld(t, nil)
			w.start()
			w.g.threads.apply(id, overlayAnswered{policies: []*policy.Policy{test.opened}, outcome: bridge.Succeeded})
			var loaded []string
			var err *rpc.Error
			done := make(chan struct{})
			go func() {
				loaded, err = w.g.loadedBefore(t.Context(), id, []*policy.Policy{strict})
				close(done)
			}()
			if test.list != "" {
				w.answer("thread/loaded/list", `{"limit":1000}`, test.list)
			}
			<-done
			if !slices.Equal(loaded, test.threads) || (loaded == nil) != (test.threads == nil) || (err != nil) != test.failed {
				t.Errorf("loaded: %q, %v", loaded, err)
			}
			if kept := len(w.g.overlays(id, false).requests) > 0; kept == test.forgotten {
				t.Errorf("the overlay is kept: %v", kept)
			}
		})
	}
}

// A set of overlays is bounded. If one is missing, nothing is allowed.
func TestOverlaysAreBounded(t *testing.T) {
	var s overlaySet
	all := keysPolicy(t, "**")
	for n := range 2 * maxOverlays { // policies that differ in something else
		cfg := config.Default().Policy
		cfg.Mode, cfg.ConfigKeys, cfg.ProtectedPaths = config.Enforce, []string{"key0"}, []string{fmt.Sprint("path", n)}
		p, err := policy.New(cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.add([]*policy.Policy{p})
	}
	for n := range maxOverlays {
		s.add([]*policy.Policy{keysPolicy(t, fmt.Sprint("key", n))})
	}
	s.add([]*policy.Policy{keysPolicy(t, "key0")}) // equal to the first
	if !s.allowedBy(all) {
		t.Error("a policy that allows all keys does not allow the overlays")
	}
	s.add([]*policy.Policy{keysPolicy(t, "more")})
	var other overlaySet
	other.addAll(s)
	if s.allowedBy(all) || other.allowedBy(all) || len(s.requests) != maxOverlays {
		t.Errorf("%d overlays are kept; all are allowed", len(s.requests))
	}
}

// A subagent's thread that Codex has in memory may have the overlay of its parent. One that Codex
// loads for the resume has the overlay of the request.
func TestResumeOfSubagentBesideLooserParent(t *testing.T) {
	const parent, child = "01900000-0000-7000-8000-00000000000a", "01900000-0000-7000-8000-00000000000b"
	for list, opens := range map[string]bool{`["` + child + `"]`: false, `["other"]`: true} {
		t.Run(list, func(t *testing.T) {
			w := newAgentWorld(t, func(cfg *config.Policy) {
				cfg.Models, cfg.Sandbox, cfg.ProjectTrust, cfg.ConfigKeys = nil, "read-only", "codex", []string{"model"}
			})
			w.write("home/sessions/2024/06/10/rollout-2024-06-10T02-35-18-"+child+".jsonl", `{"type":"session_meta","payload":{"session_id":"`+parent+`","id":"`+child+
				`","parent_thread_id":"`+parent+`","cwd":"`+w.root+`","source":{"subagent":{"thread_spawn":{"parent_thread_id":"`+parent+`","depth":1}}},"thread_source":"subagent"}}`+"\n")
			w.start()
			w.g.threads.apply(child, &openedEnforced{})
			w.g.threads.apply(parent, overlayAnswered{policies: []*policy.Policy{keysPolicy(t, "model", "web_search")}, outcome: bridge.Succeeded})
			params := `{"threadId":"` + child + `","cwd":"` + w.root + `","approvalPolicy":"on-request","approvalsReviewer":"user","sandbox":"read-only"}`
			w.c.Play("resume", `editor> {"id":2,"method":"thread/resume","params":`+params+"}\n")
			w.answer("config/read", `"$for"`, `"result":{"config":{},"layers":[]}`)
			w.answer("thread/loaded/list", `{"limit":1000}`, `"result":{"data":`+list+`,"nextCursor":null}`)
			result := `{"id":2,"result":{"thread":{"id":"` + child + `"},"approvalPolicy":"on-request","approvalsReviewer":"user","sandbox":{"type":"readOnly","networkAccess":false},"cwd":"` + w.root + `","model":"m"}}`
			answer := result
			if !opens {
				answer = `{"id":2,"error":{"code":-32013,"message":"<text>","data":"$why"}}`
			}
			w.c.Play("response", `codex<  {"id":2,"method":"thread/resume","params":"$sent"}
codex>  `+result+`
editor< `+answer+"\n")
		})
	}
}
