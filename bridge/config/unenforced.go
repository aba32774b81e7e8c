package config

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// Notice is a key that a file sets and that this version does not act on.
type Notice struct {
	Key  string
	File string
	Line int
	// Restriction is true when whoever wrote the key believes that something
	// is being refused. Under enforce the bridge must then not start.
	Restriction bool
	// Mend is what can be done but to take the key out; "" nothing.
	Mend string
}

// What it means that a key is not acted on.
type effect int

const (
	none        effect = iota // the value asks for what happens anyway
	warning                   // something is missing, but nothing passes that should not
	restriction               // something passes that was meant to be refused
)

// unenforced lists what this version reads, checks and does not act on. A row
// goes when its feature lands. A nil func means a warning.
var unenforced = []struct {
	prefix string
	judge  func(c *Config, key string) effect
}{
	{"policy.gate", func(c *Config, _ string) effect { return unless(!c.Policy.Gate, none) }},
	{"policy.escalation", func(c *Config, _ string) effect { return unless(c.Policy.Escalation == "ask", warning) }},
	{"policy.protected_paths", func(c *Config, _ string) effect { return unless(len(c.Policy.ProtectedPaths) == 0, none) }},
	{"approvals", nil},
	{"hooks", nil},
	{"tools", nil},
	{"tool_servers", nil},
	{"tool_limits", nil},
	{"thread", nil},
	{"steering", nil},
	{"trace", nil},
	{"transcript", nil},
	{"acp", nil},
	{"image", nil},
}

// unenforcedRule and unenforcedHandler do the same for what stands in lists;
// nil when this version acts on them.
var (
	// Without the gate codex asks for every command only where it is told to; and
	// what a rule allows is asked about all the same.
	unenforcedRule = func(c *Config, r Rule) effect {
		if r.Decision == "allow" {
			return warning
		}
		return unless(slices.Equal(c.Policy.Approval, []string{"untrusted"}), none)
	}
	unenforcedHandler = func(Handler) effect { return restriction }
)

// unless is a restriction unless ok, which has the effect e.
func unless(ok bool, e effect) effect {
	if ok {
		return e
	}
	return restriction
}

// Unenforced returns a notice for every key that a file sets and that this
// version does not act on, in the order of layers and lines. Mode plays no
// part: it is for the caller to refuse or to warn.
func (c *Config) Unenforced() []Notice {
	type found struct {
		Notice
		Layer
	}
	var list []found
	note := func(key string, o Origin, e effect) {
		if e != none {
			list = append(list, found{Notice{key, o.File, o.Line, e == restriction, ""}, o.Layer})
		}
	}
	if unenforcedRule != nil {
		for _, r := range c.Policy.Rules {
			note("policy.rule", r.Origin, unenforcedRule(c, r))
		}
		for i := range list {
			if list[i].Restriction {
				list[i].Mend = `set policy.approval = ["untrusted"], so that codex asks about every command and the rule is held`
			}
		}
	}
	if unenforcedHandler != nil {
		for _, h := range c.Hooks.Handlers {
			note("hooks.handler", h.Origin, unenforcedHandler(h))
		}
	}
	for key, o := range c.origins {
		// A section counts by its keys, but [hooks] alone switches hooks on.
		if c.isSection(key) && key != "hooks" {
			continue
		}
		for _, row := range unenforced {
			if key != row.prefix && !strings.HasPrefix(key, row.prefix+".") {
				continue
			}
			if row.judge != nil {
				note(key, o, row.judge(c, key))
			} else if !c.isDefault(key) {
				note(key, o, warning)
			}
			break
		}
	}
	slices.SortFunc(list, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.Layer, b.Layer), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Key, b.Key))
	})
	notices := make([]Notice, len(list))
	for i, f := range list {
		notices[i] = f.Notice
	}
	return notices
}

// isDefault says whether a key has the value it has when left out, so that
// setting it asks for nothing.
func (c *Config) isDefault(key string) bool {
	parts := strings.Split(key, ".")
	if _, ok := specs[key]; !ok || key == "hooks" {
		return false
	}
	now, def := get(reflect.ValueOf(c).Elem(), parts), get(reflect.ValueOf(Default()).Elem(), parts)
	return now.IsValid() && (reflect.DeepEqual(now.Interface(), def.Interface()) ||
		now.Kind() == reflect.Slice && now.Len()+def.Len() == 0)
}

// isSection says whether a key is a table of keys of its own, not a value.
func (c *Config) isSection(key string) bool {
	if _, ok := specs[key]; !ok {
		return false
	}
	v := get(reflect.ValueOf(c).Elem(), strings.Split(key, "."))
	return v.IsValid() && form(v.Type()) != aValue
}
