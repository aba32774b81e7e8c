package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// AgentID is the one spelling of an agent's id: lower case, with what is neither a letter, a
// digit, _ nor - made one -.
func AgentID(id string) string {
	const most = 64
	var b strings.Builder
	gap := false
	for _, c := range strings.ToLower(strings.TrimSpace(id)) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			b.WriteRune(c)
			gap = false
		} else if !gap {
			b.WriteByte('-')
			gap = true
		}
	}
	name := strings.Trim(b.String(), "-")
	return strings.TrimRight(name[:min(len(name), most)], "-")
}

// agents checks that each agent can be asked for, and no two by one id.
func (m *merger) agents() {
	before := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(m.cfg.ACP.Agents)) {
		id := AgentID(name)
		key := Key("acp", "agents", name)
		other, taken := before[id]
		switch {
		case id == "":
			m.cross(key, "", "has no letter and no digit in its id, so that nobody can ask for it", "give it another id")
		case taken:
			m.cross(key, Key("acp", "agents", other), fmt.Sprintf("is asked for as %q, and so is %q", id, other), "give one of them another id")
		}
		before[id] = name
	}
}
