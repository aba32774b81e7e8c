package inject

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
)

// Plan is the set of hooks to install in a thread.
type Plan struct {
	// Events may be in any order.
	Events []hook.Event
	// Matchers are the patterns of the tools about which events run; all tools without one.
	Matchers map[hook.Event]string
	// Command returns the command line that Codex runs.
	Command func(hook.Event) string
	// IsIdle reports whether an event has nothing to do, so no process is started for it.
	// nil: every event is active.
	IsIdle func(hook.Event) bool
	// Timeout is rounded up to seconds; default 5 s.
	Timeout time.Duration
	// PersonTimeout is added to the timeout of pre_tool_use, in which a person may be asked.
	PersonTimeout time.Duration
	// Status is what Codex shows while a hook runs; may be empty.
	Status string
}

// Key is a key of a thread's configuration. Name is dotted.
type Key struct {
	Name  string
	Value json.RawMessage
}

// sourceNames are Codex's names of a request's configuration in the keys of hooks.state.
// Codex 0.169.0 looks for the first (measured), older versions for the second.
var sourceNames = []string{Source, "<session-flags>/config.toml"}

// handler is a hook in Codex's configuration.
type handler struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int64  `json:"timeout"` // seconds
	Async   bool   `json:"async"`
	Status  string `json:"statusMessage,omitempty"`
}

type group struct {
	Matcher string    `json:"matcher,omitempty"` // without one: for all tools
	Hooks   []handler `json:"hooks"`
}

// state is an entry of hooks.state.
type state struct {
	Enabled bool   `json:"enabled"`
	Hash    string `json:"trusted_hash"`
}

// Keys returns the keys that install the plan.
func (p Plan) Keys() []Key {
	keys := []Key{{"features.hooks", json.RawMessage("true")}}
	states := make(map[string]state)
	for _, e := range hook.Events() {
		if !slices.Contains(p.Events, e) {
			continue
		}
		groups := []group{}
		if h, ok := p.handler(e); ok {
			groups = []group{{p.Matchers[e], []handler{h}}}
			for _, source := range sourceNames {
				states[stateKey(source, e)] = state{Enabled: true, Hash: p.hash(e, h)}
			}
		}
		keys = append(keys, Key{"hooks." + e.Name(), rpc.Encode(groups)})
	}
	return append(keys, Key{"hooks.state", rpc.Encode(states)})
}

// trusted returns the installed hooks by their key in hooks/list.
func (p Plan) trusted() map[string]trustedHook {
	trusted := make(map[string]trustedHook)
	for _, e := range hook.Events() {
		if h, ok := p.handler(e); ok {
			trusted[stateKey(sourceNames[0], e)] = trustedHook{p.hash(e, h), p.Matchers[e]}
		}
	}
	return trusted
}

func stateKey(source string, e hook.Event) string { return source + ":" + string(e) + ":0:0" }

// handler returns the hook of an event, or false if none is installed.
func (p Plan) handler(e hook.Event) (handler, bool) {
	if !slices.Contains(p.Events, e) || p.IsIdle != nil && p.IsIdle(e) {
		return handler{}, false
	}
	seconds := int64((p.Limit(e) + time.Second - 1) / time.Second)
	return handler{Type: "command", Command: p.Command(e), Timeout: seconds, Status: p.Status}, true
}

// Limit returns the timeout of an event's hook.
func (p Plan) Limit(e hook.Event) time.Duration {
	limit := p.Timeout
	if limit <= 0 {
		limit = 5 * time.Second
	}
	if e == hook.PreToolUse {
		limit += p.PersonTimeout
	}
	return limit
}

// hash returns Codex's trusted_hash: of the hook as compact JSON with sorted keys
// (measured; protocol.md has a check value).
func (p Plan) hash(e hook.Event, h handler) string {
	one := map[string]any{"type": h.Type, "command": h.Command, "timeout": h.Timeout, "async": h.Async}
	if h.Status != "" {
		one["statusMessage"] = h.Status
	}
	all := map[string]any{"event_name": string(e), "hooks": []any{one}}
	if matcher := p.Matchers[e]; matcher != "" {
		all["matcher"] = matcher
	}
	sum := sha256.Sum256(rpc.Encode(all))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// SelectEvents returns the events for a thread: the configured ones, else all but
// permission_request, which is needed only if Codex asks no approval.
func SelectEvents(configured []hook.Event, approval rpc.Value) []hook.Event {
	if len(configured) > 0 {
		return configured
	}
	if approval.Is("never") {
		return hook.Events()
	}
	return []hook.Event{hook.PreToolUse, hook.PostToolUse, hook.Stop}
}
