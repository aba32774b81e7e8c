package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"codex-bridge.example/bridge/setting"
)

// maxProtected is the maximum number of protected paths that workspace files add, since the bridge compares
// each command with all. Each file of the user and of the organisation has at most maxList.
const maxProtected = 1000

// finish sets the values that depend on others, and checks keys against each other. Of two files that
// contradict each other the stricter one holds, with a warning.
func (m *merger) finish() {
	c := m.cfg
	if c.Policy.Missing != "" {
		c.Policy.Mode = Enforce
	}
	c.Hooks.On = m.isSet("hooks") || c.Policy.Mode == Enforce
	c.Thread.On = m.isSet("thread")
	for i, h := range c.Hooks.Handlers {
		switch {
		case slices.Contains(c.Hooks.Events, h.Event):
		case m.hasSeveral():
			c.Hooks.Events = append(slices.Clip(c.Hooks.Events), h.Event) // later layers add events
		default:
			m.failAt(h.Origin, fmt.Sprintf("hooks.handler[%d].event", i),
				newError(fmt.Sprintf("hooks.events does not have %q, so the handler would never run", h.Event), "add it there"))
		}
	}
	m.finishDesk()
	if c.Policy.Mode == Enforce {
		m.enforceAll()
	}
	if !m.isSet("policy.gate") && !c.hasToolHook() {
		c.Policy.Gate = false // the gate needs the hook
	}
	if c.Codex.MinVersion == "" {
		c.Codex.MinVersion = Default().Codex.MinVersion
	}
	m.checkVersions()
	m.checkTimeouts()
	m.checkSource()
	if n := len(c.Policy.ProtectedPaths) - m.protected; m.alone != nil && n > maxProtected {
		m.failKeys("policy.protected_paths", "", fmt.Sprintf("workspace files add %d entries, more than %d", n, maxProtected), "name folders instead of their files")
	}
	m.checkAgents()
	m.checkDefaultAgent()
	m.checkFleet()
}

// OldestCodex returns the oldest Codex with which a policy is enforced. A lower codex.min_version does not
// count.
//
// Measured: before 0.166.0 hooks/list takes no thread, so it does not show whether the bridge's hooks
// are in force. The hook of a shell command also has the folder of the thread instead of the one in
// which the command runs.
func (c *Config) OldestCodex() string {
	oldest := Default().Codex.MinVersion
	if setting.CompareVersions(c.Codex.MinVersion, oldest) < 0 {
		return oldest
	}
	return c.Codex.MinVersion
}

// checkVersions refuses a range of versions of Codex that has none. If two files set its ends, both hold.
func (m *merger) checkVersions() {
	const key, other = "codex.max_version", "codex.min_version"
	c := m.cfg
	oldest := c.Codex.MinVersion
	if c.Policy.Mode == Enforce {
		oldest = c.OldestCodex()
	}
	if c.Codex.MaxVersion == "" || setting.CompareVersions(c.Codex.MaxVersion, oldest) >= 0 {
		return
	}
	newest, lowest := c.origins[key], c.origins[other]
	message := fmt.Sprintf("%q is lower than %s, the oldest Codex that the bridge accepts", c.Codex.MaxVersion, oldest)
	switch {
	case !m.isSet(other) && c.Policy.Mode != Enforce: // a warning about Codex, if it is newer
	case !m.isSet(other), newest.File == lowest.File, setting.CompareVersions(oldest, c.Codex.MinVersion) > 0:
		m.failKeys(key, "", message, "raise it, or leave it out")
	default:
		if lowest.Layer > newest.Layer {
			m.warn(lowest, other, newError(fmt.Sprintf("%q is above codex.max_version %q of %s: no Codex is in both limits", oldest, c.Codex.MaxVersion, m.holder(key)), "lower it"))
			return
		}
		m.warn(newest, key, newError(message+" by "+m.holder(other)+": no Codex is in both limits", "raise it"))
	}
}

// checkFleet refuses a fleet log for decisions that are in one PostgreSQL anyway. Of two files the earlier
// one's address stays.
func (m *merger) checkFleet() {
	c := m.cfg
	if c.Fleet.URL == "" || c.Store.URL == "" {
		return
	}
	fleet, shared := c.origins["fleet.url"], c.origins["store.url"]
	switch {
	case fleet.File == shared.File:
		m.failKeys("fleet.url", "store.url", "store.url is set too, and decisions that are in PostgreSQL are not sent", "leave one of both out")
	case fleet.Layer < shared.Layer:
		m.warn(shared, "store.url", newError("ignored, since "+m.holder("fleet.url")+" sends the decisions of a local log", "leave it out"))
		c.Store.URL = ""
	default:
		m.warn(fleet, "fleet.url", newError("ignored, since "+m.holder("store.url")+" keeps the decisions in PostgreSQL", "leave it out"))
		c.Fleet.URL = ""
	}
}

// enforceAll changes what would leave a restriction without effect: it adds the hook of tool calls, and
// denies what the bridge can't ask about.
func (m *merger) enforceAll() {
	c := m.cfg
	if needs := c.needsToolHook(); len(needs) > 0 {
		n := needs[0]
		m.warn(m.cfg.origins["hooks.events"], "hooks.events", newError(fmt.Sprintf("%q is added, since %s (%s) needs it", toolHook, n.Key, n.Origin), "add it here"))
		c.Hooks.Events = append(slices.Clip(c.Hooks.Events), toolHook)
	}
	for _, method := range slices.Sorted(maps.Keys(c.Policy.Methods)) {
		if key := Key("policy", "methods", method); c.asksAboutBridgeMethod(key) {
			m.warn(c.origins[key], key, newError(`"deny" holds: the bridge does not ask about its own methods`, `write "deny", or leave it out`))
			c.Policy.Methods[method] = "deny"
		}
	}
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

// checkAgents checks that each agent has an id of its own. Of two files the earlier one's agent stays.
func (m *merger) checkAgents() {
	holders := make(map[string]string) // by id
	names := slices.Collect(maps.Keys(m.cfg.ACP.Agents))
	origin := func(name string) Origin { return m.cfg.origins[Key("acp", "agents", name)] }
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(origin(a).Layer, origin(b).Layer), cmp.Compare(a, b))
	})
	for _, name := range names {
		id, key := AgentID(name), Key("acp", "agents", name)
		other, taken := holders[id]
		switch {
		case id == "":
			m.failKeys(key, "", "the id has no letter and no digit", "choose another id")
		case taken && origin(name).File != origin(other).File:
			m.warn(origin(name), key, newError(fmt.Sprintf("ignored: %s sets %q with the same id %q", m.holder(Key("acp", "agents", other)), other, id), "choose another id"))
			delete(m.cfg.ACP.Agents, name)
			continue
		case taken:
			m.failKeys(key, Key("acp", "agents", other), fmt.Sprintf("%q has the same id %q", other, id), "choose another id for one of them")
		}
		holders[id] = name
	}
}

func (m *merger) checkDefaultAgent() {
	name, allowed := m.cfg.ACP.DefaultAgent, m.cfg.ACP.Allowed
	known := slices.Sorted(maps.Keys(m.cfg.ACP.Agents))
	if i := slices.IndexFunc(known, func(s string) bool { return AgentID(s) == AgentID(name) }); i >= 0 && m.hasSeveral() && !slices.Contains(known, name) {
		name, m.cfg.ACP.DefaultAgent = known[i], known[i] // the other file's spelling
	}
	isKnown, isAllowed := slices.Contains(known, name), allowed == nil || slices.Contains(allowed, name)
	switch {
	case name == "":
	case m.leftOut[Key("acp", "agents", name)], m.hasSeveral() && !(isKnown && isAllowed):
		m.warn(m.cfg.origins["acp.default_agent"], "acp.default_agent", newError(quote(name)+" is ignored: no file configures it, it was left out, or acp.allowed of another file excludes it", "choose another"))
		m.cfg.ACP.DefaultAgent = ""
	case !isKnown:
		hint := "add [acp.agents." + Key(name) + "]"
		if near := Nearest(name, known); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		m.failKeys("acp.default_agent", "", quote(name)+" is not configured", hint)
	case !isAllowed:
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
