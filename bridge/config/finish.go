package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxProtected is the maximum number of protected paths, since the bridge compares each command
// with all.
const maxProtected = 1000

// finish sets the values that depend on others, and checks keys against each other.
func (m *merger) finish() {
	c := m.cfg
	c.Hooks.On = m.isSet("hooks") || c.Policy.Mode == Enforce
	c.Thread.On = m.isSet("thread")
	if !m.isSet("policy.gate") && !c.hasToolHook() {
		c.Policy.Gate = false // the gate needs the hook
	}
	if c.Codex.MinVersion == "" {
		c.Codex.MinVersion = Default().Codex.MinVersion
	}
	// An empty list means all. It is nil, so that no caller takes it for a list that allows nothing.
	for _, list := range []*[]string{&c.Policy.Models, &c.Policy.Efforts, &c.ACP.Allowed} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	for i, h := range c.Hooks.Handlers {
		switch {
		case slices.Contains(c.Hooks.Events, h.Event):
		case m.isSet("hooks.events") && c.origins["hooks.events"].Layer != h.Origin.Layer:
			c.Hooks.Events = append(slices.Clip(c.Hooks.Events), h.Event) // later layers add events
		default:
			m.failAt(h.Origin, fmt.Sprintf("hooks.handler[%d].event", i),
				newError(fmt.Sprintf("hooks.events does not have %q, so the handler would never run", h.Event), "add it there"))
		}
	}
	m.checkTimeouts()
	if n := len(c.Policy.ProtectedPaths); n > maxProtected {
		m.failKeys("policy.protected_paths", "", fmt.Sprintf("%d entries are more than %d", n, maxProtected), "name folders instead of their files")
	}
	m.checkAgents()
	m.checkDefaultAgent()
}

// checkTimeouts lowers a timeout that is more than its limit of another file or layer.
func (m *merger) checkTimeouts() {
	const key, other = "tool_limits.timeout", "tool_limits.max_timeout"
	l := &m.cfg.ToolLimits
	switch {
	case l.Timeout <= l.MaxTimeout:
	case m.isSet(key) && (!m.isSet(other) || m.cfg.origins[key].File == m.cfg.origins[other].File):
		m.failKeys(key, other, fmt.Sprintf("timeout %q is more than max_timeout %q", l.Timeout, l.MaxTimeout), "lower timeout or raise max_timeout")
	case m.isSet(key):
		m.warn(m.cfg.origins[key], key, newError(fmt.Sprintf("%q is more than max_timeout %q, which %s sets; %[2]q holds", l.Timeout, l.MaxTimeout, m.holder(other)), "lower it"))
		l.Timeout = l.MaxTimeout
	default: // the timeout is the default
		l.Timeout = l.MaxTimeout
	}
}

// failKeys reports an error of two keys at the one of the later layer.
func (m *merger) failKeys(key, other, message, hint string) {
	o := m.cfg.origins[key]
	if second, ok := m.cfg.origins[other]; ok && second.Layer > o.Layer {
		key, o = other, second
	}
	m.failAt(o, key, newError(message, hint))
}

// checkAgents checks that each agent has an id of its own.
func (m *merger) checkAgents() {
	names := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(m.cfg.ACP.Agents)) {
		id, key := AgentID(name), Key("acp", "agents", name)
		other, taken := names[id]
		switch {
		case id == "":
			m.failKeys(key, "", "the id has no letter and no digit", "choose another id")
		case taken:
			m.failKeys(key, Key("acp", "agents", other), fmt.Sprintf("%q has the same id %q", other, id), "choose another id for one of them")
		}
		names[id] = name
	}
}

func (m *merger) checkDefaultAgent() {
	name, allowed := m.cfg.ACP.DefaultAgent, m.cfg.ACP.Allowed
	known := slices.Sorted(maps.Keys(m.cfg.ACP.Agents))
	switch {
	case name == "":
	case m.leftOut[Key("acp", "agents", name)],
		len(m.cfg.files) > 1 && len(allowed) > 0 && slices.Contains(known, name) && !slices.Contains(allowed, name):
		m.warn(m.cfg.origins["acp.default_agent"], "acp.default_agent", newError(quote(name)+" is ignored: acp.allowed of another file excludes it, or it was left out", "choose another"))
		m.cfg.ACP.DefaultAgent = ""
	case !slices.Contains(known, name):
		hint := "add [acp.agents." + Key(name) + "]"
		if near := Nearest(name, known); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		m.failKeys("acp.default_agent", "", quote(name)+" is not configured", hint)
	case len(allowed) > 0 && !slices.Contains(allowed, name):
		m.failKeys("acp.default_agent", "acp.allowed", quote(name)+" is not in acp.allowed", "add it there or choose another")
	}
}

var notInAgentID = newRegexp(`[^a-z0-9_-]+`)

// AgentID returns the normal form of an agent's id: lower case, with - for other characters than
// letters, digits, _ and -, and at most 64 bytes.
func AgentID(id string) string {
	const maxLen = 64
	id = strings.ToLower(strings.TrimSpace(id))
	id = strings.Trim(notInAgentID.compiled().ReplaceAllString(id, "-"), "-")
	return strings.TrimRight(id[:min(len(id), maxLen)], "-")
}
