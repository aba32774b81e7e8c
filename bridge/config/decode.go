package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"

	"codex-bridge.example/bridge/toml"
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
	lines toml.Lines
	paths pathResolver
	errs  []*Error

	hasUnknown bool // the leaf has an unknown key
	incomplete bool // without it the leaf lacks a required key
}

// decode parses and checks a file. ignore makes unknown keys warnings.
func decode(src source, home string, ignore bool) (*layer, []*Error) {
	text := toml.TrimBOM(src.text)
	root, err := toml.Parse(text)
	if err != nil {
		return nil, []*Error{{File: src.file, Line: err.Line, Column: err.Column, Message: err.Message, Hint: err.Hint}}
	}
	dir := filepath.Dir(src.file)
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	d := &decoder{
		layer: layer{source: src, sections: make(map[string]Origin), ignoresUnknown: ignore || src.layer.governs() && ignoresUnknown(root)},
		lines: toml.NewLines(text),
		paths: pathResolver{home: home, dir: dir},
	}
	d.section(reflect.TypeFor[Config](), root, keyPath{})
	slices.SortStableFunc(d.leaves, func(a, b leaf) int { return cmp.Compare(a.offset, b.offset) })
	slices.SortStableFunc(d.warnings, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
	return &d.layer, d.errs
}

// ignoresUnknown reads Compat.IgnoreUnknown, which counts for the whole file.
func ignoresUnknown(root *toml.Node) bool {
	section, ok := root.Table["compat"]
	if !ok || section.Table["ignore_unknown"] == nil {
		return false
	}
	on, _ := section.Table["ignore_unknown"].Scalar.(bool)
	return on
}

// fail reports an error at an offset. It returns false.
func (d *decoder) fail(offset int, k keyPath, e *Error) bool {
	e.File, e.Key = d.file, k.name
	e.Line, e.Column = d.lines.Position(offset)
	d.errs = append(d.errs, e)
	return false
}

func (d *decoder) warn(offset int, k keyPath, e *Error) {
	e.File, e.Key = d.file, k.name
	e.Line, e.Column = d.lines.Position(offset)
	d.warnings = append(d.warnings, e)
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

func (d *decoder) origin(n *toml.Node) Origin {
	line, column := d.lines.Position(n.Key)
	return Origin{Layer: d.layer.layer, File: d.file, Line: line, Column: column}
}

// section reads a table whose keys are the fields of t. It adds the leaves to the layer.
func (d *decoder) section(t reflect.Type, n *toml.Node, k keyPath) {
	if k.name != "" {
		d.sections[k.name] = d.origin(n)
	}
	d.fields(t, n, k, func(f reflect.StructField, n *toml.Node, k keyPath) bool {
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
func (d *decoder) fields(t reflect.Type, n *toml.Node, k keyPath, read func(reflect.StructField, *toml.Node, keyPath) bool) bool {
	valid := true
	for name, value := range n.Table {
		f, ok := field(t, name)
		// In the managed file and in a bundle a misspelt key is an error: the policy must not be lost by a letter.
		if !ok && d.ignoresUnknown && (!d.layer.layer.governs() || nearestKey(t, name) == "") {
			e := unknownKey(t, name)
			if e.Message = "ignored: this version does not know the key"; e.Hint == removeIt {
				e.Hint = updateIt
			}
			d.warn(value.Key, k.field(name), e)
			d.hasUnknown = true
			continue
		}
		if !ok {
			valid = d.fail(value.Key, k.field(name), unknownKey(t, name))
			continue
		}
		valid = read(f, value, k.field(name)) && valid
	}
	return valid
}

// entries reads a table whose keys are names that the user chooses.
func (d *decoder) entries(t reflect.Type, n *toml.Node, k keyPath) {
	d.sections[k.name] = d.origin(n)
	s := specs[k.pattern]
	for name, value := range n.Table {
		entry := k.entry(name)
		if e := s.checkName(name); e != nil {
			d.fail(value.Key, entry, e)
			continue
		}
		d.leaf(t, value, entry, false)
	}
}

// tables reads a list of tables.
func (d *decoder) tables(t reflect.Type, n *toml.Node, k keyPath) {
	switch {
	case n.Table != nil:
		d.fail(n.Key, k, newError("a single table where a list of tables belongs", "write [["+k.name+"]]"))
	case n.List == nil:
		d.fail(n.Value, k, mismatch("a list of tables", n))
	case len(n.List) > maxList:
		d.fail(n.List[maxList].Value, k, errTooMany())
	default:
		for i, value := range n.List {
			d.leaf(t, value, k.item(i), true)
		}
	}
}

func (d *decoder) isTable(n *toml.Node, k keyPath) bool {
	if n.Table != nil {
		return true
	}
	e := mismatch("a table", n)
	if n.List != nil && n.Key == n.Value {
		e.Message = "a list of tables where a single table belongs"
	}
	e.Hint = "write [" + k.name + "]"
	return d.fail(n.Value, k, e)
}

// leaf reads a value of type t and adds it to the layer.
func (d *decoder) leaf(t reflect.Type, n *toml.Node, k keyPath, appends bool) {
	l := leaf{keyPath: k, value: reflect.New(t).Elem(), origin: d.origin(n), appends: appends, offset: n.Key}
	d.hasUnknown, d.incomplete = false, false
	if !d.value(l.value, n, k) {
		return
	}
	if d.hasUnknown && t.Kind() == reflect.String { // d.unknownValue has warned
		d.leftOut = append(d.leftOut, l)
		return
	}
	if d.incomplete || d.hasUnknown && widens(l.value.Interface()) {
		d.warn(n.Key, k, newError("left out: without the key that this version does not know it is not complete, or could allow more", ""))
		d.leftOut = append(d.leftOut, l)
		return
	}
	if r, ok := l.value.Interface().(Rule); ok && d.hasUnknown && r.Decision == "ask" {
		d.warn(n.Key, k, newError(`the decision is "deny": without the key that this version does not know the rule would come before others`, ""))
		l.value.FieldByName("Decision").SetString("deny")
	}
	if t.Kind() == reflect.Struct {
		if f := l.value.FieldByName("Origin"); f.IsValid() {
			f.Set(reflect.ValueOf(l.origin))
		}
	}
	d.leaves = append(d.leaves, l)
}
