package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// merger applies layers to a Config, in order.
type merger struct {
	cfg     *Config
	opts    Options
	errs    []*Error
	leftOut map[string]bool // keys of entries that an earlier file has and this version does not know

	trusted   bool     // the managed or the user file has a policy
	governed  bool     // the managed file or its bundle was applied, and has a policy
	alone     []*layer // the workspace files with a policy
	protected int      // number of protected paths without those of workspace files
}

// apply merges one layer.
func (m *merger) apply(l *layer) {
	if l.layer.IsBundle() {
		m.cfg.bundles++
	} else {
		m.cfg.files = append(m.cfg.files, l.file)
	}
	m.cfg.warnings = append(m.cfg.warnings, l.warnings...)
	if l.layer != Workspace {
		defer func() { m.protected = len(m.cfg.Policy.ProtectedPaths) }()
	}
	for key, o := range l.sections {
		if !m.isSet(key) {
			m.cfg.origins[key] = o
		}
	}
	for _, f := range l.leaves {
		if l.layer == Workspace && strings.HasPrefix(f.pattern, "policy.") {
			m.cfg.Policy.FromWorkspace = true
		}
		switch {
		case m.leftOut[f.name]:
			m.warn(f.origin, f.name, newError("ignored, since "+m.holder(f.name)+" has set this", "leave it out here, or change it there"))
		case l.layer == Workspace && !workspaceAllows(f.pattern):
			m.fail(f, newError("a workspace file can't set this",
				"move it to your own configuration; a workspace file can only tighten policy and add rules"))
		case l.layer.IsBundle() && !bundleAllows(f.pattern):
			m.fail(f, newError("a bundle can't set this", "set it in the managed file; a bundle holds policy, and names no programs, addresses or other bundles"))
		case f.pattern == tableKey && m.ignoresTable(l):
			m.warn(f.origin, f.name, newError("ignored: under a policy of the machine only the machine's files can name a table", "leave it out here"))
		case f.pattern == tableKey && l.table != nil && l.table.err != nil:
			m.fail(f, newError(l.table.err.Error(), "correct this, or leave codex.table out"))
		case f.pattern == "compat.ignore_unknown" && l.layer != Managed && !l.layer.IsBundle():
			m.warn(f.origin, f.name, newError("ignored: only the managed file can set this", ""))
		case strings.HasPrefix(f.pattern, "policy_source.") && m.cfg.origins["policy_source"].File != l.file:
			m.warn(f.origin, f.name, newError("ignored, since "+m.holder("policy_source")+" names the policy source", "leave it out here"))
		case f.appends:
			m.append(f)
		default:
			m.set(f, m.bound(f))
		}
	}
	m.setTable(l)
	m.governed = m.governed || l.layer.isMachines() && l.hasPolicy()
	for _, f := range l.leftOut {
		if !f.appends && !m.isSet(f.name) {
			m.cfg.origins[f.name] = f.origin
			if m.leftOut == nil {
				m.leftOut = make(map[string]bool)
			}
			m.leftOut[f.name] = true
		}
	}
}

// hasSeveral reports whether there are several files or bundles.
func (m *merger) hasSeveral() bool { return len(m.cfg.files)+m.cfg.bundles > 1 }

func (m *merger) isSet(key string) bool {
	_, ok := m.cfg.origins[key]
	return ok
}

// implyMode adds the mode enforce to a layer that has a [policy] section without a mode.
func (l *layer) implyMode() {
	if section, ok := l.sections["policy"]; ok && !l.sets("policy.mode") {
		path := keyPath{[]string{"policy", "mode"}, "policy.mode", "policy.mode"}
		l.leaves = append(l.leaves, leaf{keyPath: path, value: reflect.ValueOf(Enforce), origin: section})
	}
}

// sets reports whether a layer sets a key.
func (l *layer) sets(name string) bool {
	return slices.ContainsFunc(l.leaves, func(f leaf) bool { return f.name == name })
}

// hasPolicy reports whether a layer sets a mode other than off.
func (l *layer) hasPolicy() bool {
	return slices.ContainsFunc(l.leaves, func(f leaf) bool { return f.pattern == "policy.mode" && f.value.String() != string(Off) })
}

// bound returns the value that a leaf can't loosen, or the zero Value if there is none. A value of
// an earlier file binds all later ones. A default binds a workspace file only. A default of the policy
// does so under the policy of the managed or the user file, or of a workspace file that keeps the default:
// of two workspace files, neither can loosen the policy of the other.
func (m *merger) bound(f leaf) reflect.Value {
	current := get(m.root(), f.parts)
	_, ordered := tighten[f.pattern]
	keepsDefault := func(l *layer) bool { return !l.sets(f.name) }
	switch {
	case m.isSet(f.name):
		return current
	case f.origin.Layer != Workspace:
		return reflect.Value{}
	case f.pattern == "policy.methods.*":
		// The built-in table may refuse the method, so a workspace file can only refuse it too.
		return reflect.ValueOf("deny")
	case !ordered, strings.HasPrefix(f.pattern, "policy.") && !m.trusted && !slices.ContainsFunc(m.alone, keepsDefault):
		return reflect.Value{}
	}
	return current
}

// set merges a leaf with the value that binds it.
func (m *merger) set(f leaf, bound reflect.Value) {
	value := f.value
	if deniesStopping(f) {
		m.warn(f.origin, f.name, newError("ignored: a workspace file can't deny a method that ends work", "leave it out, or set it in your own configuration"))
		return
	}
	if bound.IsValid() && !equal(bound, value) {
		o, ok := tighten[f.pattern]
		if !ok {
			m.warn(f.origin, f.name, newError("ignored, since "+m.holder(f.name)+" has set this", "leave it out here, or change it there"))
			return
		}
		if f.pattern == "policy.methods.*" && !m.isSet(f.name) {
			m.warn(f.origin, f.name, newError("ignored: for a method that no earlier file names, a workspace file can only say \"deny\"", "leave it out, or set it in your own configuration"))
			return
		}
		switch value, ok = o.merge(bound, value); {
		case ok && o.neither != nil && o.neither(bound.Interface().([]string), f.value.Interface().([]string)):
			m.warn(f.origin, f.name, newError(fmt.Sprintf("%s%s has no value of %s, which %s; the strictest value, %s, holds", show(f.value), f.from, show(bound), m.reason(f), show(value)),
				"name a value that both have"))
		case !ok:
			value = o.inBoth(bound, f.value)
			m.warn(f.origin, f.name, newError(fmt.Sprintf("%s%s is looser than %s, which %s; %s holds", show(f.value), f.from, shown(f.pattern, bound), m.reason(f), shown(f.pattern, value)),
				"leave it out, or tighten: a later layer may "+o.words))
			if equal(bound, value) {
				return
			}
		}
	}
	if current := get(m.root(), f.parts); m.isSet(f.name) && current.IsValid() && equal(current, value) {
		return // the earlier layer stays the origin
	}
	put(m.root(), f.parts, value)
	m.cfg.origins[f.name] = f.origin
}

// shown returns the text of a value that binds. An empty list of a key whose nil list allows all allows
// nothing.
func shown(pattern string, value reflect.Value) string {
	if nilIsAll(pattern) && value.Len() == 0 {
		return "nothing"
	}
	return show(value)
}

// holder names the layer that has set a key.
func (m *merger) holder(key string) string {
	o := m.cfg.origins[key]
	return fmt.Sprintf("the %s layer (%s:%d)", o.Layer, o.File, o.Line)
}

// reason says why a value binds a leaf.
func (m *merger) reason(f leaf) string {
	switch {
	case m.isSet(f.name):
		return m.holder(f.name) + " sets"
	case f.pattern == "policy.methods.*":
		return "the built-in table may say"
	}
	return "is the default"
}

// append adds a rule or a handler.
func (m *merger) append(f leaf) {
	if r, ok := f.value.Interface().(Rule); ok && f.origin.Layer == Workspace && r.Decision == "allow" {
		m.fail(f, newError("a workspace file can't allow anything",
			`write a rule with the decision "deny" or "ask", or move this one to your own configuration`))
		return
	}
	list := get(m.root(), f.parts)
	list.Set(reflect.Append(list, f.value))
}

// warn records that something in a file has no effect, so that an earlier layer can change without ending
// the editors of those whose file asks for more.
func (m *merger) warn(o Origin, key string, e *Error) {
	const maxWarnings = 200
	if len(m.cfg.warnings) == maxWarnings {
		m.cfg.warnings = append(m.cfg.warnings, newError("more warnings are not shown", ""))
	}
	if len(m.cfg.warnings) > maxWarnings {
		return
	}
	e.File, e.Line, e.Column, e.Key = o.File, o.Line, o.Column, key
	m.cfg.warnings = append(m.cfg.warnings, e)
}

// warnAboutEmpty warns about files of the machine and the user that are empty: perhaps they have lost a policy.
func (m *merger) warnAboutEmpty(sources []source) {
	for _, s := range sources {
		if s.err == nil && s.layer != Workspace && s.isEmpty() {
			m.warn(Origin{File: s.file}, "", newError("is empty, so it sets nothing and enforces no policy", "restore it, or remove it"))
		}
	}
}

func (m *merger) fail(f leaf, e *Error) { m.failAt(f.origin, f.name, e) }

func (m *merger) failAt(o Origin, key string, e *Error) {
	e.File, e.Line, e.Column, e.Key = o.File, o.Line, o.Column, key
	m.errs = append(m.errs, e)
}

func (m *merger) root() reflect.Value { return reflect.ValueOf(m.cfg).Elem() }

// get returns the value of a key, or the zero Value if a map does not have it.
func get(v reflect.Value, parts []string) reflect.Value {
	for _, part := range parts {
		if v.Kind() == reflect.Map {
			v = v.MapIndex(reflect.ValueOf(part))
			continue
		}
		f, _ := field(v.Type(), part)
		v = v.FieldByIndex(f.Index)
	}
	return v
}

func put(v reflect.Value, parts []string, value reflect.Value) {
	last := len(parts) - 1
	parent := get(v, parts[:last])
	if parent.Kind() != reflect.Map {
		get(parent, parts[last:]).Set(value)
		return
	}
	if parent.IsNil() {
		parent.Set(reflect.MakeMap(parent.Type()))
	}
	parent.SetMapIndex(reflect.ValueOf(parts[last]), value)
}

func equal(a, b reflect.Value) bool { return reflect.DeepEqual(a.Interface(), b.Interface()) }

// show returns a value in the syntax of a file. Only values with an order are shown; none is secret.
func show(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case Duration, Size:
		return fmt.Sprintf("%q", x)
	case []string:
		quoted := make([]string, len(x))
		for i, s := range x {
			quoted[i] = quote(s)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	}
	if v.Kind() == reflect.String {
		return quote(v.String())
	}
	return fmt.Sprint(v.Interface())
}
