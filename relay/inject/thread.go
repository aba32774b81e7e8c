package inject

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"codex-bridge/bridge"
	"codex-bridge/relay/hook"
	"codex-bridge/rpc"
)

// thread is a thread that was opened through the bridge.
type thread struct {
	trusted map[string]string // key in hooks/list → required hash

	mu       sync.Mutex
	reason   string // why it has no hooks; "": it has, or they are not verified yet
	verified bool
}

// verify checks hooks/list until the hooks are trusted and enabled. first is true unless
// the result was known before.
func (t *thread) verify(ctx context.Context, peer *bridge.Conn, id string) (reason string, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.verified || t.reason != "" {
		return t.reason, false
	}
	result, err := peer.Call(ctx, "hooks/list", map[string]any{"threadId": id})
	if err != nil {
		return fmt.Sprintf("codex's hooks/list failed: %v", err), true
	}
	if reason := hookFaults(result, t.trusted); reason != "" {
		return reason, true
	}
	t.verified = true
	return "", true
}

// isActive reports whether the thread's hook for an event is verified.
func (t *thread) isActive(event hook.Event) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, installed := t.trusted[stateKey(sourceNames[0], event)]
	return t.verified && installed
}

// hookFaults returns what is wrong in a list of hooks, or "". Measured: Codex lists a hook
// with the wrong hash as untrusted and a disabled one as not enabled, and silently skips
// both.
func hookFaults(list rpc.Value, trusted map[string]string) string {
	found := make(map[string]rpc.Value)
	for entry := range list.Get("data").Elements() {
		for h := range entry.Get("hooks").Elements() {
			if key, ok := h.Get("key").Text(); ok {
				found[key] = h
			}
		}
	}
	var faults []string
	for key, hash := range trusted {
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
		case !h.Get("currentHash").Is(hash):
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
