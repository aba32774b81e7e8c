package inject

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"codex-bridge.example/bridge"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
)

// thread is a thread that was opened through the bridge.
type thread struct {
	// plans are the hooks of the latest request that opened the thread, and of earlier ones. Codex has
	// those of the request with which it loaded the thread. It is not changed after the thread is known.
	plans []map[string]trustedHook

	mu       sync.Mutex
	reason   string                 // why it has no hooks; "": it has, or they are not verified yet
	verified map[string]trustedHook // the plan that Codex lists; nil: not verified yet
}

// trustedHook is a hook of a plan, whose key in hooks/list is the key of the plan.
type trustedHook struct {
	hash    string // Codex lists it
	matcher string // the pattern of the tools about which it runs; "": all
}

// verify checks hooks/list until the hooks are trusted and enabled. first is true unless
// the result was known before.
func (t *thread) verify(ctx context.Context, peer *bridge.Conn, id string) (reason string, first bool) {
	t.mu.Lock()
	known := t.verified != nil || t.reason != ""
	reason = t.reason
	t.mu.Unlock()
	if known {
		return reason, false
	}
	// Without the lock: the client of this peer may not read, and others use the thread, too.
	result, err := peer.Call(ctx, "hooks/list", map[string]any{"threadId": id})
	if err != nil {
		return fmt.Sprintf("codex's hooks/list failed: %v", err), true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.verified != nil || t.reason != "" { // by another client's request meanwhile
		return t.reason, false
	}
	for i, plan := range t.plans {
		fault := hookFaults(result, plan)
		if fault == "" {
			t.verified = plan
			return "", true
		}
		if i == 0 {
			reason = fault
		}
	}
	return reason, true
}

// maxPlans bounds thread.plans.
const maxPlans = 8

// addEarlier adds the plans of an earlier request that opened the thread. Clients of one Codex may want
// different events, and Codex keeps the hooks of a thread that it has loaded. Only plans with the same
// hooks for events that decide count.
func (t *thread) addEarlier(earlier *thread) {
	if earlier == nil || len(t.plans) == 0 {
		return
	}
	for _, plan := range earlier.plans {
		same := func(e hook.Event) bool {
			key := stateKey(sourceNames[0], e)
			return !e.Decides() || plan[key] == t.plans[0][key]
		}
		if len(t.plans) < maxPlans && !slices.ContainsFunc(hook.Events(), func(e hook.Event) bool { return !same(e) }) &&
			!slices.ContainsFunc(t.plans, func(one map[string]trustedHook) bool { return maps.Equal(one, plan) }) {
			t.plans = append(t.plans, plan)
		}
	}
}

// active returns the thread's hook for an event; ok is false unless it is verified.
func (t *thread) active(event hook.Event) (h trustedHook, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h, ok = t.verified[stateKey(sourceNames[0], event)]
	return h, ok
}

// hookFaults returns what is wrong in a list of hooks, or "". Measured: Codex lists a hook
// with the wrong hash as untrusted and a disabled one as not enabled, and silently skips
// both.
func hookFaults(list rpc.Value, trusted map[string]trustedHook) string {
	found := make(map[string]rpc.Value)
	for entry := range list.Get("data").Elements() {
		for h := range entry.Get("hooks").Elements() {
			if key, ok := h.Get("key").Text(); ok {
				found[key] = h
			}
		}
	}
	var faults []string
	for key, want := range trusted {
		h, ok := found[key]
		name := strings.TrimSuffix(strings.TrimPrefix(key, sourceNames[0]+":"), ":0:0")
		enabled, _ := h.Get("enabled").Bool()
		status, _ := h.Get("trustStatus").Text()
		switch {
		case !ok:
			faults = append(faults, name+" is missing")
		case status != "trusted":
			faults = append(faults, name+" is "+status)
		case !enabled:
			faults = append(faults, name+" is disabled")
		case !h.Get("currentHash").Is(want.hash):
			faults = append(faults, name+" has another hash")
		}
	}
	if len(faults) == 0 {
		return ""
	}
	return "codex's hooks/list: " + strings.Join(faults, ", ") + "; reopen the thread, or run codex-bridge doctor"
}

// conflictingConfig returns a reason if the client's config has hooks of its own. Two forms
// of one table override each other at random (measured). Under enforce the policy has
// removed them.
func conflictingConfig(overlay rpc.Value) string {
	for key, v := range overlay.Members() {
		top, rest, _ := strings.Cut(key, ".")
		switch {
		case top == "hooks", key == "features.hooks", top == "bypass_hook_trust":
		case key == "features" && v.Get("hooks").Exists():
			rest = "hooks"
		default:
			continue
		}
		if rest != "" {
			top += "." + rest
		}
		return "the client's thread configuration sets " + top + "; remove it there"
	}
	return ""
}
