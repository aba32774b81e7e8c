package config

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// maxList is the maximum length of a list, since the bridge searches some for each request.
const maxList = 1000

// keyPath is a key in three forms.
type keyPath struct {
	parts   []string // without indices
	name    string   // policy.rule[0].decision
	pattern string   // policy.rule[].decision, tools.*.timeout: a key of specs
}

// field returns the path of a field of a section.
func (k keyPath) field(name string) keyPath { return k.with(name, name) }

// entry returns the path of an entry of a map.
func (k keyPath) entry(name string) keyPath { return k.with(name, "*") }

func (k keyPath) with(name, pattern string) keyPath {
	dot := ""
	if k.name != "" {
		dot = "."
	}
	return keyPath{append(slices.Clip(k.parts), name), k.name + dot + Key(name), k.pattern + dot + pattern}
}

// item returns the path of an element of a list.
func (k keyPath) item(i int) keyPath {
	return keyPath{k.parts, fmt.Sprintf("%s[%d]", k.name, i), k.pattern + "[]"}
}

// leaf is a key that a file sets, with its checked value. Layers are merged by leaves. A rule, a
// handler and an entry of a map such as tools are one leaf each.
type leaf struct {
	keyPath
	value   reflect.Value
	origin  Origin
	appends bool   // the leaf is an element of a list to which layers add
	from    string // for messages: " of policy.preset", of which the value is
	offset  int
}

// layer is a checked file.
type layer struct {
	source
	leaves   []leaf            // in the order of the file
	sections map[string]Origin // by name, the first mention
	warnings []*Error          // unknown keys, and entries that are left out with theirs
	leftOut  []leaf            // entries with unknown keys; later layers can't replace them
	// unknownSecurity means that this version does not know the value of policy.security.
	unknownSecurity bool
	// ignoresUnknown is Compat.IgnoreUnknown, of this file or of the managed one before it.
	ignoresUnknown bool
}

// decoder checks a document by the fields of Config and the rows of specs.
type decoder struct {
	layer
	lines lines
	paths pathResolver
	errs  []*Error

	hasUnknown bool // the leaf has an unknown key
	incomplete bool // without it the leaf lacks a required key
}

// decode parses and checks a file. ignore makes unknown keys warnings.
func decode(src source, home string, ignore bool) (*layer, []*Error) {
	text := strings.TrimPrefix(src.text, "\ufeff")
	root, err := parseTOML(text)
	if err != nil {
		err.File = src.file
		return nil, []*Error{err}
	}
	dir := filepath.Dir(src.file)
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	d := &decoder{
		layer: layer{source: src, sections: make(map[string]Origin), ignoresUnknown: ignore || src.layer.governs() && ignoresUnknown(root)},
		lines: newLines(text),
		paths: pathResolver{home: home, dir: dir},
	}
	d.section(reflect.TypeFor[Config](), root, keyPath{})
	slices.SortStableFunc(d.leaves, func(a, b leaf) int { return cmp.Compare(a.offset, b.offset) })
	slices.SortStableFunc(d.warnings, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
	return &d.layer, d.errs
}

// ignoresUnknown reads Compat.IgnoreUnknown, which counts for the whole file.
func ignoresUnknown(root *node) bool {
	section, ok := root.table["compat"]
	if !ok || section.table["ignore_unknown"] == nil {
		return false
	}
	on, _ := section.table["ignore_unknown"].scalar.(bool)
	return on
}

// fail reports an error at an offset. It returns false.
func (d *decoder) fail(offset int, k keyPath, e *Error) bool {
	e.File, e.Key = d.file, k.name
	d.errs = append(d.errs, d.lines.place(offset, e))
	return false
}

func (d *decoder) warn(offset int, k keyPath, e *Error) {
	e.File, e.Key = d.file, k.name
	d.warnings = append(d.warnings, d.lines.place(offset, e))
}

// widens reports whether an entry can allow more without one of its keys, which may be a condition or a limit.
// A rule that denies does so more often then, and a handler is asked more often.
func widens(entry any) bool {
	switch e := entry.(type) {
	case Rule:
		return e.Decision == "allow"
	case Handler:
		return e.Event == "permission_request" // its program can allow
	}
	return true
}

func (d *decoder) origin(n *node) Origin {
	line, column := d.lines.position(n.key)
	return Origin{Layer: d.layer.layer, File: d.file, Line: line, Column: column}
}

// section reads a table whose keys are the fields of t. It adds the leaves to the layer.
func (d *decoder) section(t reflect.Type, n *node, k keyPath) {
	if k.name != "" {
		d.sections[k.name] = d.origin(n)
	}
	d.fields(t, n, k, func(f reflect.StructField, n *node, k keyPath) bool {
		switch {
		case f.Type.Kind() == reflect.Struct:
			if d.isTable(n, k) {
				d.section(f.Type, n, k)
			}
		case f.Type.Kind() == reflect.Map:
			if d.isTable(n, k) {
				d.entries(f.Type.Elem(), n, k)
			}
		case isTableList(f.Type):
			d.tables(f.Type.Elem(), n, k)
		default:
			d.leaf(f.Type, n, k, false)
		}
		return true
	})
}

// fields calls read for each key that is a field of t, and reports the other keys. It reports
// whether all keys are valid.
func (d *decoder) fields(t reflect.Type, n *node, k keyPath, read func(reflect.StructField, *node, keyPath) bool) bool {
	valid := true
	for name, value := range n.table {
		f, ok := field(t, name)
		// In the managed file and in a bundle a misspelt key is an error: the policy must not be lost by a letter.
		if !ok && d.ignoresUnknown && (!d.layer.layer.governs() || nearestKey(t, name) == "") {
			e := unknownKey(t, name)
			if e.Message = "ignored: this version does not know the key"; e.Hint == removeIt {
				e.Hint = updateIt
			}
			d.warn(value.key, k.field(name), e)
			d.hasUnknown = true
			continue
		}
		if !ok {
			valid = d.fail(value.key, k.field(name), unknownKey(t, name))
			continue
		}
		valid = read(f, value, k.field(name)) && valid
	}
	return valid
}

// entries reads a table whose keys are names that the user chooses.
func (d *decoder) entries(t reflect.Type, n *node, k keyPath) {
	d.sections[k.name] = d.origin(n)
	s := specs[k.pattern]
	for name, value := range n.table {
		entry := k.entry(name)
		if e := s.checkName(name); e != nil {
			d.fail(value.key, entry, e)
			continue
		}
		d.leaf(t, value, entry, false)
	}
}

// tables reads a list of tables.
func (d *decoder) tables(t reflect.Type, n *node, k keyPath) {
	switch {
	case n.table != nil:
		d.fail(n.key, k, newError("a single table where a list of tables belongs", "write [["+k.name+"]]"))
	case n.list == nil:
		d.fail(n.value, k, mismatch("a list of tables", n))
	case len(n.list) > maxList:
		d.fail(n.list[maxList].value, k, errTooMany())
	default:
		for i, value := range n.list {
			d.leaf(t, value, k.item(i), true)
		}
	}
}

func (d *decoder) isTable(n *node, k keyPath) bool {
	if n.table != nil {
		return true
	}
	e := mismatch("a table", n)
	if n.list != nil && n.key == n.value {
		e.Message = "a list of tables where a single table belongs"
	}
	e.Hint = "write [" + k.name + "]"
	return d.fail(n.value, k, e)
}

// leaf reads a value of type t and adds it to the layer.
func (d *decoder) leaf(t reflect.Type, n *node, k keyPath, appends bool) {
	l := leaf{keyPath: k, value: reflect.New(t).Elem(), origin: d.origin(n), appends: appends, offset: n.key}
	d.hasUnknown, d.incomplete = false, false
	if !d.value(l.value, n, k) {
		return
	}
	if d.hasUnknown && t.Kind() == reflect.String { // d.unknownValue has warned
		d.leftOut = append(d.leftOut, l)
		return
	}
	if d.incomplete || d.hasUnknown && widens(l.value.Interface()) {
		d.warn(n.key, k, newError("left out: without the key that this version does not know it is not complete, or could allow more", ""))
		d.leftOut = append(d.leftOut, l)
		return
	}
	if r, ok := l.value.Interface().(Rule); ok && d.hasUnknown && r.Decision == "ask" {
		d.warn(n.key, k, newError(`the decision is "deny": without the key that this version does not know the rule would come before others`, ""))
		l.value.FieldByName("Decision").SetString("deny")
	}
	if t.Kind() == reflect.Struct {
		if f := l.value.FieldByName("Origin"); f.IsValid() {
			f.Set(reflect.ValueOf(l.origin))
		}
	}
	d.leaves = append(d.leaves, l)
}

// value sets v to a value that it checks by the row of the key. It reports whether the value is
// valid.
func (d *decoder) value(v reflect.Value, n *node, k keyPath) bool {
	s := specs[k.pattern]
	var e *Error
	switch v.Kind() {
	case reflect.Slice:
		return d.list(v, n, k)
	case reflect.Struct:
		return d.entry(v, n, k)
	case reflect.Map, reflect.Interface:
		return d.json(v, n, k)
	case reflect.String:
		var text string
		if s.isUnknown(n) && d.ignoresUnknown {
			v.SetString(d.unknownValue(n, k))
			return true
		}
		if text, e = s.text(n); e == nil && s.resolve != nil {
			text, e = s.resolve(d.paths, text)
		}
		v.SetString(text)
	case reflect.Bool:
		on, ok := n.scalar.(bool)
		if !ok {
			e = mismatch("true or false", n)
		}
		v.SetBool(on)
	default:
		var i int64
		i, e = s.number(v.Type(), n)
		v.SetInt(i)
	}
	return e == nil || d.fail(n.value, k, e)
}

// unknownValue returns the strictest value of a key with a value that this version does not know. It returns ""
// for a key without an order; then the leaf is left out.
func (d *decoder) unknownValue(n *node, k keyPath) string {
	value := quote(n.scalar.(string))
	strictest := strictestWord(k.pattern)
	if strictest == "" {
		d.warn(n.value, k, newError("left out: this version does not know the value "+value, updateIt))
		d.hasUnknown = true
		d.incomplete = d.incomplete || k.pattern == "hooks.handler[].event"
		return ""
	}
	d.unknownSecurity = d.unknownSecurity || k.pattern == "policy.security"
	d.warn(n.value, k, newError(fmt.Sprintf("%q holds, the strictest: this version does not know the value %s", strictest, value), updateIt))
	return strictest
}

// list reads a list of strings.
func (d *decoder) list(v reflect.Value, n *node, k keyPath) bool {
	s := specs[k.pattern]
	if n.list == nil {
		e := mismatch("a list of strings", n)
		if text, ok := n.scalar.(string); ok {
			e.Hint = fmt.Sprintf("write [%s]", quote(text))
		}
		return d.fail(n.value, k, e)
	}
	if (s.filled || s.program) && len(n.list) == 0 {
		return d.fail(n.value, k, newError("empty", "write at least one value or leave the key out"))
	}
	if len(n.list) > maxList {
		return d.fail(n.list[maxList].value, k, errTooMany())
	}
	if len(n.list) == 0 && nilIsAll(k.pattern) {
		return true
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, len(n.list)))
	valid := true
	for i, value := range n.list {
		item := reflect.New(v.Type().Elem()).Elem()
		ok := d.value(item, value, k.item(i))
		if ok && d.hasUnknown && item.String() == "" {
			d.hasUnknown = false // the list goes on without the element
			continue
		}
		if ok && i == 0 {
			first, e := s.checkFirst(d.paths, item.String())
			ok = e == nil || d.fail(value.value, k.item(0), e)
			item.SetString(first)
		}
		v.Set(reflect.Append(v, item))
		valid = ok && valid
	}
	return valid
}

// entry reads a table that is one leaf: a rule, a handler, a tool.
func (d *decoder) entry(v reflect.Value, n *node, k keyPath) bool {
	if defaults := entryDefaults(k.pattern); defaults != nil {
		v.Set(reflect.ValueOf(defaults))
	}
	if n.table == nil {
		return d.fail(n.value, k, mismatch("a table", n))
	}
	valid := d.fields(v.Type(), n, k, func(f reflect.StructField, n *node, k keyPath) bool {
		return d.value(v.FieldByIndex(f.Index), n, k)
	})
	// If a key is wrong, it may be the one that is missing.
	switch e := specs[k.pattern].checkKeys(n.table); {
	case e != nil && valid && d.hasUnknown:
		d.incomplete = true
		return true
	case e != nil && valid:
		valid = d.fail(n.key, k, e)
	}
	if server, ok := v.Addr().Interface().(*ToolServer); ok {
		valid = d.server(server, n, k, valid)
	}
	return valid
}

// server sets the namespace of a tool server and checks its keys against each other.
func (d *decoder) server(s *ToolServer, n *node, k keyPath, valid bool) bool {
	if s.Namespace == "" {
		s.Namespace = k.parts[len(k.parts)-1]
		if e := checkNamespace(s.Namespace); e != nil {
			e.Hint = "set another namespace"
			valid = d.fail(n.key, k, e)
		}
	}
	if !valid {
		return false
	}
	for key, e := range map[string]*Error{"protocol": checkProtocol(*s), "bearer_token_env": checkToken(*s)} {
		if e != nil {
			valid = d.fail(n.table[key].value, k.field(key), e)
		}
	}
	return valid
}

// json reads a value that becomes JSON.
func (d *decoder) json(v reflect.Value, n *node, k keyPath) bool {
	if v.Kind() == reflect.Map && n.table == nil {
		return d.fail(n.value, k, mismatch("a table", n))
	}
	if !d.isJSON(n, k) {
		return false
	}
	plain := n.plain()
	if specs[k.pattern].schema {
		if e := checkSchema(plain.(map[string]any)); e != nil {
			return d.fail(n.value, k, e)
		}
	}
	v.Set(reflect.ValueOf(plain))
	return true
}

// isJSON reports whether JSON can represent a value.
func (d *decoder) isJSON(n *node, k keyPath) bool {
	valid := true
	switch scalar := n.scalar.(type) {
	case date:
		valid = d.fail(n.value, k, newError("JSON has no dates and times", "write a string"))
	case float64:
		if math.IsNaN(scalar) || math.IsInf(scalar, 0) {
			valid = d.fail(n.value, k, newError("not a finite number", "write a number or a string"))
		}
	}
	for name, value := range n.table {
		valid = d.isJSON(value, k.field(name)) && valid
	}
	for i, value := range n.list {
		valid = d.isJSON(value, k.item(i)) && valid
	}
	return valid
}

func errTooMany() *Error {
	return newError(fmt.Sprintf("more than %d", maxList), "write fewer, with patterns")
}

// mismatch returns the error for a value of the wrong type. It does not show the value.
func mismatch(want string, n *node) *Error {
	got := "a table"
	switch n.scalar.(type) {
	case string:
		got = "a string"
	case bool:
		got = "true or false"
	case int64:
		got = "a whole number"
	case float64:
		got = "a number"
	case date:
		got = "a date or time"
	case nil:
		if n.list != nil {
			got = "a list"
		}
	}
	return newError(fmt.Sprintf("%s where %s belongs", got, want), "write "+want)
}

// unknownKey returns the error for a key that t does not have, with similar keys.
func unknownKey(t reflect.Type, name string) *Error {
	var near []string
	if one := nearestKey(t, name); one != "" {
		near = []string{one}
	} else {
		near = inOtherSections(name)
	}
	if len(near) == 0 {
		return newError("unknown key", removeIt)
	}
	return newError("unknown key", "did you mean "+either(near)+"?")
}

// nearestKey returns the key of t that is the most similar to a mistyped or shortened one, or "".
func nearestKey(t reflect.Type, name string) string {
	var known []string
	for key := range fields(t) {
		known = append(known, key)
	}
	if near := Nearest(name, known); near != "" {
		return near
	}
	known = slices.DeleteFunc(known, func(key string) bool { return !isShortFor(name, key) })
	if len(known) != 1 {
		return ""
	}
	return known[0]
}

// isShortFor reports whether a name has letters of a key, in their order and with the first one: cmd for
// command.
func isShortFor(name, key string) bool {
	const minLen = 3
	if len(name) < minLen || key[0] != name[0] {
		return false
	}
	for i := range len(name) {
		_, after, found := strings.Cut(key, name[i:i+1])
		if !found {
			return false
		}
		key = after
	}
	return true
}

const (
	removeIt = "remove it"
	updateIt = "update codex-bridge, or remove it"
)

// inOtherSections returns the full keys of the sections that have a key of this name.
func inOtherSections(name string) (keys []string) {
	for section, f := range fields(reflect.TypeFor[Config]()) {
		if f.Type.Kind() != reflect.Struct {
			continue
		}
		if _, ok := field(f.Type, name); ok {
			keys = append(keys, Key(section, name))
		}
	}
	return keys
}

// fields iterates over the fields of a struct that are keys, by key.
func fields(t reflect.Type) iter.Seq2[string, reflect.StructField] {
	return func(yield func(string, reflect.StructField) bool) {
		for i := range t.NumField() {
			f := t.Field(i)
			if key := f.Tag.Get("toml"); key != "" && key != "-" && !yield(key, f) {
				return
			}
		}
	}
}

// field returns the field of a key.
func field(t reflect.Type, key string) (reflect.StructField, bool) {
	for name, f := range fields(t) {
		if name == key {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// isTableList reports whether a type is a list of tables, such as [[policy.rule]].
func isTableList(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct
}
