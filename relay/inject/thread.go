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
	trusted map[string]string // what hooks/list must show: key → hash

	mu       sync.Mutex
	reason   string // why it has no hooks; "" it has, or nobody has looked yet
	verified bool
}

// verify has Codex say, once, that the thread's hooks are trusted and enabled.
// Until it has said so it is asked again with each turn. first tells that this call
// has found it out.
func (t *thread) verify(ctx context.Context, peer *bridge.Conn, id string) (reason string, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.verified || t.reason != "" {
		return t.reason, false
	}
	result, err := peer.Call(ctx, "hooks/list", map[string]any{"threadId": id})
	if err != nil {
		return fmt.Sprintf("codex does not say which it has: %v", err), true
	}
	if reason := missing(result, t.trusted); reason != "" {
		return reason, true
	}
	t.verified = true
	return "", true
}

// runs tells whether the thread's hook for an event is known to be in force.
func (t *thread) runs(event hook.Event) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, installed := t.trusted[place(sources[0], event)]
	return t.verified && installed
}

// missing is what a list of hooks lacks; "" nothing. Measured: a hook whose state does
// not fit is listed as untrusted, one that is switched off as not enabled, and both
// are skipped without a word.
func missing(list rpc.Value, trusted map[string]string) string {
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
		name := strings.TrimSuffix(strings.TrimPrefix(key, sources[0]+":"), ":0:0")
		enabled, _ := h.Get("enabled").Bool()
		status, _ := h.Get("trustStatus").Text()
		switch {
		case !ok:
			faults = append(faults, name+" is not there")
		case status != "trusted":
			faults = append(faults, name+" is "+status)
		case !enabled:
			faults = append(faults, name+" is switched off")
		case !h.Get("currentHash").Is(hash):
			faults = append(faults, name+" is another")
		}
	}
	if len(faults) == 0 {
		return ""
	}
	return "codex's hooks/list: " + strings.Join(faults, ", ") + "; open the thread anew, or see codex-bridge doctor"
}

// foreign tells why the bridge's hooks can't be added to a configuration that the
// client lays over: it has hooks of its own there, and two forms of one table win
// over each other by chance (measured). Under enforce the policy has taken them out.
func foreign(overlay rpc.Value) string {
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
		return "the client's configuration of the thread sets " + top + " itself; take it out there"
	}
	return ""
}
