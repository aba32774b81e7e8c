package guard

import (
	"fmt"
	"testing"

	"codex-bridge/bridge"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
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
		"unknown":                      {func(*threads) {}, parent, false, true},
		"the same policy":              {func(t *threads) { t.addOverlay(parent, policies{strict}, bridge.Succeeded) }, parent, false, true},
		"a looser policy":              {func(t *threads) { t.addOverlay(parent, policies{loose}, bridge.Succeeded) }, parent, false, false},
		"a looser one beside the same": {func(t *threads) { t.addOverlay(parent, policies{loose, strict}, bridge.Succeeded) }, parent, false, true},
		"another thread":               {func(t *threads) { t.addOverlay(child, policies{loose}, bridge.Succeeded) }, parent, false, true},
		"resumed under a looser policy": {func(t *threads) {
			t.addOverlay(parent, policies{strict}, bridge.Succeeded)
			t.addOverlay(parent, policies{loose}, bridge.Succeeded)
		}, parent, false, true},
		"unsubscribed, resumed under a looser": {func(t *threads) {
			t.addOverlay(parent, policies{strict}, bridge.Succeeded)
			t.unsubscribe(parent, true)
			t.addOverlay(parent, policies{loose}, bridge.Succeeded)
		}, parent, false, false},
		"unloaded": {func(t *threads) { t.addOverlay(parent, policies{loose}, bridge.Succeeded); t.unload(parent) }, parent, false, true},
		"failed under a looser policy": {func(t *threads) {
			t.addOverlay(parent, policies{strict}, bridge.Succeeded)
			t.unsubscribe(parent, true)
			t.addOverlay(parent, policies{loose}, bridge.Failed)
		}, parent, false, false},
		"failed, then resumed under a looser": {func(t *threads) {
			t.addOverlay(parent, policies{strict}, bridge.Succeeded)
			t.unload(parent)
			t.addOverlay(parent, policies{strict}, bridge.Failed)
			t.addOverlay(parent, policies{loose}, bridge.Succeeded)
		}, parent, false, false},
		"unknown, then resumed under a looser": {func(t *threads) {
			t.addOverlay(parent, policies{strict}, bridge.Unknown)
			t.addOverlay(parent, policies{loose}, bridge.Succeeded)
		}, parent, false, false},
		"failed, certain, then a looser": {func(t *threads) {
			t.addOverlay(parent, policies{strict}, bridge.Unknown)
			t.addOverlay(parent, policies{strict}, bridge.Succeeded)
			t.addOverlay(parent, policies{loose}, bridge.Succeeded)
		}, parent, false, true},
		"failed, not known":                {func(t *threads) { t.addOverlay(parent, policies{loose}, bridge.Failed) }, parent, false, true},
		"not loaded":                       {func(t *threads) { t.addOverlay(parent, policies{loose}, bridge.Succeeded); t.forgetOverlays(parent) }, parent, false, true},
		"a subagent":                       {func(t *threads) { t.addOverlay(parent, policies{loose}, bridge.Succeeded) }, child, false, false},
		"a subagent of a strict parent":    {func(t *threads) { t.addOverlay(parent, policies{strict}, bridge.Succeeded) }, child, false, true},
		"a subagent of an unloaded parent": {func(t *threads) { t.addOverlay(parent, policies{loose}, bridge.Succeeded); t.unload(parent) }, child, false, false},
		"its parent was loaded again": {func(t *threads) {
			t.addOverlay(parent, policies{loose}, bridge.Succeeded)
			t.unload(parent)
			t.addOverlay(parent, policies{strict}, bridge.Succeeded)
		}, child, false, false},
		"a subagent that Codex had not loaded":   {func(t *threads) { t.addOverlay(parent, policies{loose}, bridge.Succeeded) }, child, true, true},
		"a subagent that was loaded by a client": {func(t *threads) { t.addOverlay(child, policies{loose}, bridge.Succeeded) }, child, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAgentWorld(t, nil)
			w.write("home/sessions/2024/06/10/rollout-2024-06-10T02-35-18-"+child+".jsonl", `{"type":"session_meta","payload":{"session_id":"`+parent+`","id":"`+child+
				`","parent_thread_id":"`+parent+`","cwd":"`+w.root+`","source":{"subagent":{"thread_spawn":{"parent_thread_id":"`+parent+`","depth":1}}},"thread_source":"subagent"}}`+"\n")
			w.start()
			w.g.policy.Store(strict)
			test.do(&w.g.threads)
			w.g.threads.verified = map[string]*thread{test.id: {}}
			err := w.g.requireOverlay("thread/resume", test.id, policies{strict}, test.created)
			if (err == nil) != test.want || (w.g.threads.verified[test.id] != nil) != test.want {
				t.Errorf("resumed: %v, verified: %v", err, w.g.threads.verified[test.id] != nil)
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
