package inject

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"codex-bridge/relay/hook"
	"codex-bridge/rpc"
)

// Plan is what is to be installed in a thread.
type Plan struct {
	Events  []hook.Event            // the order does not matter
	Command func(hook.Event) string // the command line that Codex runs; nil installs nothing
	Idle    func(hook.Event) bool   // selected, and nothing to do: no process is started for it; nil: none is
	Timeout time.Duration           // rounded up to seconds; 5 s when not above zero
	Person  time.Duration           // how much longer the first event may take, in which a person is asked
	Status  string                  // what Codex shows while a hook runs; "" nothing
}

// Key is one key of a thread's configuration. The name is dotted.
type Key struct {
	Name  string
	Value json.RawMessage
}

// sources is what Codex calls the configuration that comes with a request, in the
// keys of hooks.state: the first form is the one that 0.169.0 looks for (measured),
// the second that of older versions.
var sources = []string{Source, "<session-flags>/config.toml"}

// handler is a hook as the configuration has it.
type handler struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int64  `json:"timeout"` // seconds
	Async   bool   `json:"async"`
	Status  string `json:"statusMessage,omitempty"`
}

type group struct {
	Hooks []handler `json:"hooks"` // without a matcher: all tools
}

// state is an entry of hooks.state.
type state struct {
	Enabled bool   `json:"enabled"`
	Hash    string `json:"trusted_hash"`
}

// Keys are the keys that install the plan.
func (p Plan) Keys() []Key {
	keys := []Key{{"features.hooks", json.RawMessage("true")}}
	states := make(map[string]state)
	for _, e := range hook.Events {
		if !p.selects(e) {
			continue
		}
		groups := []group{}
		if h, ok := p.handler(e); ok {
			groups = []group{{[]handler{h}}}
			for _, source := range sources {
				states[place(source, e)] = state{Enabled: true, Hash: h.hash(e)}
			}
		}
		keys = append(keys, Key{"hooks." + e.Name(), encode(groups)})
	}
	return append(keys, Key{"hooks.state", encode(states)})
}

// Trusted are the hooks that the plan installs, by the key under which hooks/list
// shows them, with the hash that it must show.
func (p Plan) Trusted() map[string]string {
	trusted := make(map[string]string)
	for _, e := range hook.Events {
		if h, ok := p.handler(e); ok {
			trusted[place(sources[0], e)] = h.hash(e)
		}
	}
	return trusted
}

func place(source string, e hook.Event) string { return source + ":" + string(e) + ":0:0" }

func (p Plan) selects(e hook.Event) bool {
	for _, selected := range p.Events {
		if selected == e {
			return true
		}
	}
	return false
}

// handler is the hook of an event, false when none is installed.
func (p Plan) handler(e hook.Event) (handler, bool) {
	if !p.selects(e) || p.Command == nil || p.Idle != nil && p.Idle(e) {
		return handler{}, false
	}
	seconds := int64((p.Limit(e) + time.Second - 1) / time.Second)
	return handler{Type: "command", Command: p.Command(e), Timeout: seconds, Status: p.Status}, true
}

// Limit is how long a hook of the event may take.
func (p Plan) Limit(e hook.Event) time.Duration {
	limit := p.Timeout
	if limit <= 0 {
		limit = 5 * time.Second
	}
	if e == hook.PreToolUse {
		limit += p.Person
	}
	return limit
}

// hash is what Codex compares trusted_hash with: that of the hook in compact JSON
// with sorted keys (measured; protocol.md has a check value).
func (h handler) hash(e hook.Event) string {
	one := map[string]any{"type": h.Type, "command": h.Command, "timeout": h.Timeout, "async": h.Async}
	if h.Status != "" {
		one["statusMessage"] = h.Status
	}
	sum := sha256.Sum256(encode(map[string]any{"event_name": string(e), "hooks": []any{one}}))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// encode writes <, > and & as they are: Codex does, and hashes that.
func encode(v any) json.RawMessage {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // texts, numbers and booleans always have a JSON form
	}
	return bytes.TrimSpace(text.Bytes())
}

// Select are the events of a thread: those that are configured, else all but
// permission_request, which has its use only where Codex asks nobody.
func Select(configured []hook.Event, approval rpc.Value) []hook.Event {
	if len(configured) > 0 {
		return configured
	}
	if approval.Is("never") {
		return hook.Events
	}
	return []hook.Event{hook.PreToolUse, hook.PostToolUse, hook.Stop}
}
