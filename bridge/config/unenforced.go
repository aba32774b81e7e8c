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
	mend   string // of a restriction
}{
	{"policy.gate", func(c *Config, _ string) effect { return unless(!c.Policy.Gate || c.hooked()) }, nameHook},
	{"policy.protected_paths", func(c *Config, _ string) effect { return unless(c.seesAll() || protects(c.Policy)) }, nameHook},
	{"policy.methods", func(c *Config, key string) effect { return unless(!c.asksOwn(key)) }, `say "deny"; nobody is asked about a method of the bridge's own`},
	{"approvals", func(c *Config, _ string) effect { return unless(c.Policy.Mode == Enforce).atMost(warning) }, ""},
}

const nameHook = `name "pre_tool_use" in hooks.events, so that a hook sees every call and the key is acted on`

// asksOwn reports whether a key has a person asked about a method of the bridge's own.
func (c *Config) asksOwn(key string) bool {
	for method, decision := range c.Policy.Methods {
		if decision == "ask" && strings.HasPrefix(method, "bridge/") && key == Key("policy", "methods", method) {
			return true
		}
	}
	return false
}

// unenforcedRule does the same for a rule that restricts.
func unenforcedRule(c *Config, r Rule) effect {
	return unless(c.seesAll() || r.Decision == "allow")
}

// seesAll tells whether every call is seen: by a hook, or because codex is told to ask
// about each.
func (c *Config) seesAll() bool {
	return c.hooked() || slices.Equal(c.Policy.Approval, []string{"untrusted"})
}

// hooked tells whether a hook sees every call.
func (c *Config) hooked() bool { return slices.Contains(c.Hooks.Events, "pre_tool_use") }

// protects tells whether all protected paths are held without that. Codex's sandbox
// keeps those of the default.
func protects(p Policy) bool {
	return !slices.ContainsFunc(p.ProtectedPaths, func(path string) bool {
		return !slices.Contains([]string{".git", ".codex", ".agents"}, path)
	})
}

// unless is a restriction unless ok.
func unless(ok bool) effect {
	if ok {
		return none
	}
	return restriction
}

func (e effect) atMost(most effect) effect { return min(e, most) }

// Unenforced returns a notice for every key that a file sets and that this
// version does not act on, in the order of layers and lines. Mode plays no
// part: it is for the caller to refuse or to warn.
func (c *Config) Unenforced() []Notice {
	type found struct {
		Notice
		Layer
	}
	var list []found
	note := func(key string, o Origin, e effect, mend string) {
		if e != restriction {
			mend = ""
		}
		if e != none {
			list = append(list, found{Notice{key, o.File, o.Line, e == restriction, mend}, o.Layer})
		}
	}
	for _, r := range c.Policy.Rules {
		note("policy.rule", r.Origin, unenforcedRule(c, r), nameHook)
	}
	for key, o := range c.origins {
		if c.isSection(key) { // it counts by its keys
			continue
		}
		for _, row := range unenforced {
			if key != row.prefix && !strings.HasPrefix(key, row.prefix+".") {
				continue
			}
			if row.judge != nil {
				note(key, o, row.judge(c, key), row.mend)
			} else if !c.isDefault(key) {
				note(key, o, warning, "")
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
	if _, ok := specs[key]; !ok {
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
