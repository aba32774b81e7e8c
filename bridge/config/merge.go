package config

import (
	"codex-bridge/bridge/setting"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// merger applies layers to a Config, in order.
type merger struct {
	cfg  *Config
	opts Options
	// stood are the keys whose value is what a preset stands for.
	stood map[string]bool
	// layers are the exec policies of the files, in layer order, and exec is their result.
	layers []setting.ExecLayer
	exec   setting.ExecPolicy
	errs   []*Error
}

// apply adds one layer. Which earlier value binds it:
//
//   - user: what the managed file set, nothing else.
//   - workspace: what is in force, defaults included. Only while policy is off
//     do its defaults not bind, since anything is tighter than off; what an
//     earlier file set binds even then.
func (m *merger) apply(l *layer) {
	m.cfg.files = append(m.cfg.files, l.file)
	off := m.cfg.Policy.Mode == Off
	if _, set := m.cfg.origins["policy.mode"]; !set {
		m.implied(l)
	}
	for key, o := range l.sections {
		if _, set := m.cfg.origins[key]; !set {
			m.cfg.origins[key] = o
		}
	}
	for _, f := range l.leaves {
		if l.layer == Workspace && !workspaceAllows(f.pattern) {
			m.fail(f, problem{"a workspace file may not set this",
				"move it to your own configuration; a workspace file may only tighten policy and add rules"})
			continue
		}
		if f.adds {
			m.add(f)
			continue
		}
		m.set(f, m.earlier(f, off))
	}
	m.profiled(l, off)
}

// implied gives a layer with a [policy] section and no mode the mode enforce,
// unless an earlier layer has set one.
func (m *merger) implied(l *layer) {
	at, ok := l.sections["policy"]
	if !ok || slices.ContainsFunc(l.leaves, func(f leaf) bool { return f.pattern == "policy.mode" }) {
		return
	}
	m.cfg.Policy.Mode = Enforce
	m.cfg.origins["policy.mode"] = at
}

// earlier returns what a leaf must be at least as tight as; the zero Value
// when nothing binds it.
func (m *merger) earlier(f leaf, off bool) reflect.Value {
	_, set := m.cfg.origins[f.shown]
	current := get(reflect.ValueOf(m.cfg).Elem(), f.parts)
	switch {
	case set:
		return current
	case f.origin.Layer != Workspace:
		return reflect.Value{}
	case f.pattern == "policy.methods.*":
		// The built-in table is not known here and may refuse the method, so
		// a workspace may only do the same.
		return reflect.ValueOf("deny")
	case strings.HasPrefix(f.pattern, "policy.") && off:
		return reflect.Value{}
	case !hasOrder(f.pattern):
		return reflect.Value{}
	}
	return current
}

func hasOrder(pattern string) bool {
	_, ok := tighten[pattern]
	return ok
}

func (m *merger) set(f leaf, earlier reflect.Value) {
	value := f.value
	if earlier.IsValid() && !reflect.DeepEqual(earlier.Interface(), value.Interface()) {
		o, ok := tighten[f.pattern]
		if !ok {
			m.fail(f, problem{fmt.Sprintf("%s has set this", m.holder(f)), "leave it out here, or change it there"})
			return
		}
		if value, ok = o.merge(earlier, value); !ok {
			m.fail(f, problem{
				fmt.Sprintf("%s is looser than %s, which %s", show(f.value), show(earlier), m.holds(f)),
				fmt.Sprintf("leave it out, or tighten: a later layer may %s", o.words),
			})
			return
		}
	}
	root := reflect.ValueOf(m.cfg).Elem()
	current := get(root, f.parts)
	if _, set := m.cfg.origins[f.shown]; set && current.IsValid() && reflect.DeepEqual(current.Interface(), value.Interface()) {
		return // decided by the earlier layer
	}
	put(root, f.parts, value)
	m.cfg.origins[f.shown] = f.origin
}

// holder names what binds a leaf.
func (m *merger) holder(f leaf) string {
	o := m.cfg.origins[f.shown]
	return fmt.Sprintf("the %s layer (%s:%d)", o.Layer, o.File, o.Line)
}

func (m *merger) holds(f leaf) string {
	if _, ok := m.cfg.origins[f.shown]; ok {
		return m.holder(f) + " sets"
	}
	if f.pattern == "policy.methods.*" {
		return "the built-in table may say"
	}
	return "is the default"
}

// add appends a rule or a handler.
func (m *merger) add(f leaf) {
	if r, ok := f.value.Interface().(Rule); ok && f.origin.Layer == Workspace && r.Decision == "allow" {
		m.fail(f, problem{"a workspace file may not allow anything", `write a rule that decides "deny" or "ask", or move this one to your own configuration`})
		return
	}
	list := get(reflect.ValueOf(m.cfg).Elem(), f.parts)
	list.Set(reflect.Append(list, f.value))
}

func (m *merger) fail(f leaf, p problem) {
	m.errs = append(m.errs, &Error{
		File: f.origin.File, Line: f.origin.Line, Column: f.origin.Column,
		Key: f.shown, Message: p.message, Mend: p.mend,
	})
}

// get follows a key through fields and maps. What a map does not hold is the
// zero Value.
func get(v reflect.Value, parts []string) reflect.Value {
	for _, p := range parts {
		if v.Kind() == reflect.Map {
			v = v.MapIndex(reflect.ValueOf(p))
			continue
		}
		f, _ := field(v.Type(), p)
		v = v.FieldByIndex(f.Index)
	}
	return v
}

func put(v reflect.Value, parts []string, value reflect.Value) {
	parent := get(v, parts[:len(parts)-1])
	if parent.Kind() != reflect.Map {
		get(v, parts).Set(value)
		return
	}
	if parent.IsNil() {
		parent.Set(reflect.MakeMap(parent.Type()))
	}
	parent.SetMapIndex(reflect.ValueOf(parts[len(parts)-1]), value)
}

// show writes a value as a file would. Only keys that have an order are shown,
// and none of those is secret.
func show(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case Duration:
		return fmt.Sprintf("%q", x)
	case Size:
		return fmt.Sprintf("%q", x)
	case []string:
		if len(x) == 0 {
			return "[]"
		}
		quoted := make([]string, len(x))
		for i, s := range x {
			quoted[i] = clip(s)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	}
	if v.Kind() == reflect.String {
		return clip(v.String())
	}
	return fmt.Sprint(v.Interface())
}

// maxProtected bounds policy.protected_paths: each command line is compared with every entry.
const maxProtected = 1000

// finish sets what follows from the rest, and checks what no key can be
// checked for alone.
func (m *merger) finish() {
	c := m.cfg
	_, section := c.origins["hooks"]
	c.Hooks.On = section || c.Policy.Mode == Enforce
	_, c.Thread.On = c.origins["thread"]
	if _, said := c.origins["policy.gate"]; !said && !c.hooked() {
		c.Policy.Gate = false // it asks from that hook
	}
	if c.Codex.MinVersion == "" {
		c.Codex.MinVersion = Default().Codex.MinVersion
	}
	// Empty means all in these: one form of empty, so that nobody can take
	// [] for a list that allows nothing.
	for _, list := range []*[]string{&c.Policy.Models, &c.Policy.Efforts, &c.ACP.Allowed} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	for i, h := range c.Hooks.Handlers {
		if !slices.Contains(c.Hooks.Events, h.Event) {
			m.errs = append(m.errs, &Error{File: h.Origin.File, Line: h.Origin.Line, Column: h.Origin.Column,
				Key:     fmt.Sprintf("hooks.handler[%d].event", i),
				Message: fmt.Sprintf("%q is not hooked, so the handler would never run", h.Event),
				Mend:    fmt.Sprintf("add %q to hooks.events", h.Event)})
		}
	}
	if l := c.ToolLimits; l.Timeout > l.MaxTimeout {
		m.cross("tool_limits.timeout", "tool_limits.max_timeout",
			fmt.Sprintf("the timeout %q is more than max_timeout %q", l.Timeout, l.MaxTimeout), "lower timeout or raise max_timeout")
	}
	if n := len(c.Policy.ProtectedPaths); n > maxProtected {
		m.cross("policy.protected_paths", "", fmt.Sprintf("%d entries are more than %d", n, maxProtected), "name folders in place of the files in them")
	}
	m.agents()
	if name := c.ACP.DefaultAgent; name != "" {
		known := slices.Sorted(maps.Keys(c.ACP.Agents))
		switch {
		case !slices.Contains(known, name):
			mend := "add [acp.agents." + Key(name) + "]"
			if near := Nearest(name, known); near != "" {
				mend = fmt.Sprintf("did you mean %q?", near)
			}
			m.cross("acp.default_agent", "", clip(name)+" is not configured", mend)
		case len(c.ACP.Allowed) > 0 && !slices.Contains(c.ACP.Allowed, name):
			m.cross("acp.default_agent", "acp.allowed", clip(name)+" is not in acp.allowed", "add it there or choose another")
		}
	}
}

// cross notes a fault between two keys, at the one that was decided last.
func (m *merger) cross(key, other, message, mend string) {
	o := m.cfg.origins[key]
	if p, ok := m.cfg.origins[other]; ok && p.Layer > o.Layer {
		key, o = other, p
	}
	m.errs = append(m.errs, &Error{File: o.File, Line: o.Line, Column: o.Column, Key: key, Message: message, Mend: mend})
}
