package config

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"time"
)

// maxList bounds lists and the rules of a file: they are gone through for
// every request, and a workspace file is not the user's own.
const maxList = 1000

var tooMany = problem{fmt.Sprintf("more than %d", maxList), "write fewer, with patterns"}

// decoder walks a document by the fields of Config and the rows of specs.
type decoder struct {
	*document
	from from
	out  layer
	errs []*Error
}

func decode(d *document, home string) (*layer, []*Error) {
	dir := filepath.Dir(d.file)
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	dec := &decoder{document: d, from: from{home: home, dir: dir}}
	dec.out = layer{source: d.source, sections: make(map[string]Origin)}
	dec.section(reflect.TypeFor[Config](), d.tree, d.root, keyPath{})
	slices.SortStableFunc(dec.out.leaves, func(a, b leaf) int { return cmp.Compare(a.at, b.at) })
	return &dec.out, dec.errs
}

// fail notes a fault at the key of n, or without a line when the place is not
// known: no line is better than a wrong one.
func (d *decoder) fail(n *node, k keyPath, p problem) {
	if n == nil {
		d.failAt(-1, k, p)
		return
	}
	d.failAt(n.at, k, p)
}

// failValue notes a fault at the value of n.
func (d *decoder) failValue(n *node, k keyPath, p problem) {
	if n == nil {
		d.failAt(-1, k, p)
		return
	}
	d.failAt(n.value, k, p)
}

func (d *decoder) failAt(at int, k keyPath, p problem) {
	e := &Error{File: d.file, Key: k.shown, Message: p.message, Mend: p.mend}
	if at >= 0 {
		e.Line, e.Column = d.lines.place(at)
	}
	d.errs = append(d.errs, e)
}

func (d *decoder) origin(n *node) Origin {
	o := Origin{Layer: d.layer, File: d.file}
	if n != nil {
		o.Line, o.Column = d.lines.place(n.at)
	}
	return o
}

func (d *decoder) leaf(k keyPath, v reflect.Value, n *node, adds bool) {
	l := leaf{keyPath: k, value: v, origin: d.origin(n), adds: adds}
	if n != nil {
		l.at = n.at
	}
	if o := v; o.Kind() == reflect.Struct {
		if f := o.FieldByName("Origin"); f.IsValid() {
			f.Set(reflect.ValueOf(l.origin))
		}
	}
	d.out.leaves = append(d.out.leaves, l)
}

// section reads a table whose keys are fields of t, handing on leaves.
func (d *decoder) section(t reflect.Type, tree map[string]any, n *node, k keyPath) {
	if k.shown != "" {
		d.out.sections[k.shown] = d.origin(n)
	}
	for name, raw := range tree {
		sub, at := k.key(name), n.get(name)
		f, ok := field(t, name)
		if !ok {
			d.unknown(t, name, at, sub)
			continue
		}
		switch form(f.Type) {
		case aSection:
			if table, ok := d.table(raw, at, sub); ok {
				d.section(f.Type, table, at, sub)
			}
		case aMap:
			table, ok := d.table(raw, at, sub)
			if !ok {
				continue
			}
			d.out.sections[sub.shown] = d.origin(at)
			for name, raw := range table {
				entry, where := sub.entry(name), at.get(name)
				if !d.name(name, where, sub, entry) {
					continue
				}
				if v, ok := d.value(f.Type.Elem(), raw, where, entry); ok {
					d.leaf(entry, v, where, false)
				}
			}
		case aTables:
			list, ok := asList(raw)
			if _, table := raw.(map[string]any); table {
				d.fail(at, sub, problem{"a single table where a list of tables belongs", "write [[" + sub.shown + "]]"})
				continue
			}
			if !ok {
				d.failValue(at, sub, mismatch("a list of tables", raw))
				continue
			}
			if len(list) > maxList {
				d.failValue(at.item(maxList), sub, tooMany)
				continue
			}
			for i, raw := range list {
				if v, ok := d.value(f.Type.Elem(), raw, at.item(i), sub.item(i)); ok {
					d.leaf(sub.item(i), v, at.item(i), true)
				}
			}
		default:
			if v, ok := d.value(f.Type, raw, at, sub); ok {
				d.leaf(sub, v, at, false)
			}
		}
	}
}

func (d *decoder) table(raw any, n *node, k keyPath) (map[string]any, bool) {
	table, ok := raw.(map[string]any)
	if ok {
		return table, true
	}
	if _, list := asList(raw); list && n != nil && n.at == n.value {
		d.fail(n, k, problem{"a list of tables where a single table belongs", "write [" + k.shown + "]"})
	} else {
		p := mismatch("a table", raw)
		p.mend = "write [" + k.shown + "]"
		d.failValue(n, k, p)
	}
	return nil, false
}

// name checks the key of a map's entry.
func (d *decoder) name(name string, n *node, parent, entry keyPath) bool {
	s := specs[parent.pattern]
	if s.names != nil && !s.names.MatchString(name) {
		d.fail(n, entry, problem{clip(name) + " is not a valid name", "use " + s.nameWants})
		return false
	}
	if s.nameCheck != nil {
		if p := s.nameCheck(name); !p.ok() {
			d.fail(n, entry, p)
			return false
		}
	}
	return true
}

// value reads a value of type t, checked by the row of its key.
func (d *decoder) value(t reflect.Type, raw any, n *node, k keyPath) (reflect.Value, bool) {
	v := reflect.New(t).Elem()
	s := specs[k.pattern]
	bad := func(p problem) (reflect.Value, bool) {
		d.failValue(n, k, p)
		return v, false
	}
	switch {
	case t == reflect.TypeFor[Duration]():
		text, ok := raw.(string)
		if !ok {
			return bad(mismatch(`a duration such as "2s"`, raw))
		}
		u, err := ParseDuration(text)
		if err != nil {
			return bad(split(err))
		}
		if p := s.number(int64(u), func(n int64) string { return fmt.Sprintf("%q", Duration(n)) }); !p.ok() {
			return bad(p)
		}
		v.SetInt(int64(u))
	case t == reflect.TypeFor[Size]():
		var size Size
		switch raw := raw.(type) {
		case int64:
			size = Size(raw)
		case string:
			u, err := ParseSize(raw)
			if err != nil {
				return bad(split(err))
			}
			size = u
		default:
			return bad(mismatch(`a size such as "64MiB"`, raw))
		}
		if p := s.number(int64(size), func(n int64) string { return fmt.Sprintf("%q", Size(n)) }); !p.ok() {
			return bad(p)
		}
		v.SetInt(int64(size))
	case t.Kind() == reflect.String:
		text, ok := raw.(string)
		if !ok {
			p := mismatch("a string", raw)
			if s.enum != nil {
				p.mend = "write " + either(s.enum)
			}
			return bad(p)
		}
		if p := s.text(text); !p.ok() {
			return bad(p)
		}
		if s.resolve != nil {
			var p problem
			if text, p = s.resolve(d.from, text); !p.ok() {
				return bad(p)
			}
		}
		v.SetString(text)
	case t.Kind() == reflect.Bool:
		b, ok := raw.(bool)
		if !ok {
			return bad(mismatch("true or false", raw))
		}
		v.SetBool(b)
	case t.Kind() == reflect.Int:
		i, ok := raw.(int64)
		if !ok {
			return bad(mismatch("a whole number", raw))
		}
		if p := s.number(i, func(n int64) string { return fmt.Sprint(n) }); !p.ok() {
			return bad(p)
		}
		v.SetInt(i)
	case t.Kind() == reflect.Slice:
		return d.list(t, raw, n, k)
	case t.Kind() == reflect.Struct:
		return d.entry(t, raw, n, k)
	default: // any, and map[string]any
		if t.Kind() == reflect.Map {
			if _, ok := raw.(map[string]any); !ok {
				return bad(mismatch("a table", raw))
			}
		}
		before := len(d.errs)
		d.json(raw, n, k)
		if len(d.errs) > before {
			return v, false
		}
		if s.schema {
			if p := checkSchema(raw.(map[string]any)); !p.ok() {
				return bad(p)
			}
		}
		v.Set(reflect.ValueOf(plain(raw)))
	}
	return v, true
}

func (d *decoder) list(t reflect.Type, raw any, n *node, k keyPath) (reflect.Value, bool) {
	v := reflect.MakeSlice(t, 0, 0)
	s := specs[k.pattern]
	list, ok := asList(raw)
	if !ok {
		p := mismatch("a list of strings", raw)
		if text, ok := raw.(string); ok {
			p.mend = fmt.Sprintf("write [%s]", clip(text))
		}
		d.failValue(n, k, p)
		return v, false
	}
	if (s.filled || s.program) && len(list) == 0 {
		d.failValue(n, k, problem{"empty", "write at least one value or leave the key out"})
		return v, false
	}
	if len(list) > maxList {
		d.failValue(n.item(maxList), k, tooMany)
		return v, false
	}
	whole := true
	for i, raw := range list {
		e, ok := d.value(t.Elem(), raw, n.item(i), k.item(i))
		if !ok {
			whole = false
			continue
		}
		if i == 0 && s.first != nil && !slices.Contains(s.first, e.String()) {
			d.failValue(n.item(i), k.item(i), problem{clip(e.String()) + " cannot stand first",
				"the first is put in place of a forbidden one; put " + either(s.first) + " before it"})
			whole = false
			continue
		}
		if i == 0 && s.program {
			program, p := from.command(d.from, e.String())
			if !p.ok() {
				d.failValue(n.item(i), k.item(i), p)
				whole = false
				continue
			}
			e.SetString(program)
		}
		v = reflect.Append(v, e)
	}
	return v, whole
}

// entry reads a table that is a leaf as a whole: a rule, a handler, a tool.
func (d *decoder) entry(t reflect.Type, raw any, n *node, k keyPath) (reflect.Value, bool) {
	v := reflect.New(t).Elem()
	if def := entryDefaults(k.pattern); def != nil {
		v.Set(reflect.ValueOf(def))
	}
	table, ok := raw.(map[string]any)
	if !ok {
		d.failValue(n, k, mismatch("a table", raw))
		return v, false
	}
	whole := true
	for name, raw := range table {
		sub, at := k.key(name), n.get(name)
		f, ok := field(t, name)
		if !ok {
			d.unknown(t, name, at, sub)
			whole = false
			continue
		}
		if e, ok := d.value(f.Type, raw, at, sub); ok {
			v.FieldByIndex(f.Index).Set(e)
		} else {
			whole = false
		}
	}
	// With a key that does not fit, what is missing may be what was meant.
	if p := missing(specs[k.pattern], table); !p.ok() && whole {
		d.fail(n, k, p)
		whole = false
	}
	if server, ok := v.Interface().(ToolServer); ok {
		whole = d.server(&server, n, k, whole)
		v.Set(reflect.ValueOf(server))
	}
	return v, whole
}

// server checks the keys of a tool server against each other, and names its namespace.
// What is not whole has been said, and may be what was meant.
func (d *decoder) server(s *ToolServer, n *node, k keyPath, whole bool) bool {
	if s.Namespace == "" {
		s.Namespace = k.parts[len(k.parts)-1]
		if p := checkNamespace(s.Namespace); !p.ok() {
			d.fail(n, k, problem{p.message, "set a namespace that is not"})
			whole = false
		}
	}
	if !whole {
		return false
	}
	for key, p := range map[string]problem{"protocol": checkProtocol(*s), "bearer_token_env": checkToken(*s)} {
		if !p.ok() {
			d.failValue(n.get(key), k.key(key), p)
			whole = false
		}
	}
	return whole
}

// missing checks which keys a table has.
func missing(s spec, table map[string]any) problem {
	for _, key := range s.required {
		if _, ok := table[key]; !ok {
			return problem{"has no " + key, "add " + key + " = …"}
		}
	}
	has := func(list []string) (n int) {
		for _, key := range list {
			if _, ok := table[key]; ok {
				n++
			}
		}
		return n
	}
	if s.anyOf != nil && has(s.anyOf) == 0 {
		return problem{"speaks of nothing", "add at least one of " + either(s.anyOf)}
	}
	if s.oneOf != nil && has(s.oneOf) != 1 {
		return problem{fmt.Sprintf("has %d of %s", has(s.oneOf), either(s.oneOf)), "give exactly one of them"}
	}
	return problem{}
}

// json refuses values that have no form in JSON, which is what becomes of
// them.
func (d *decoder) json(raw any, n *node, k keyPath) {
	switch raw := raw.(type) {
	case time.Time:
		d.failValue(n, k, problem{"a date or time has no form in JSON", "write it as a string"})
	case float64:
		if math.IsNaN(raw) || math.IsInf(raw, 0) {
			d.failValue(n, k, problem{"not a finite number", "write a number or a string"})
		}
	case map[string]any:
		for name, v := range raw {
			d.json(v, n.get(name), k.key(name))
		}
	default:
		if list, ok := asList(raw); ok {
			for i, v := range list {
				d.json(v, n.item(i), k.item(i))
			}
		}
	}
}

// unknown notes a key that t does not have, with the one that was meant.
func (d *decoder) unknown(t reflect.Type, name string, n *node, k keyPath) {
	known := fieldNames(t)
	mend := "remove it"
	if near := Nearest(name, known); near != "" {
		mend = fmt.Sprintf("did you mean %q?", near)
	} else if at := elsewhere(name); at != "" {
		mend = fmt.Sprintf("did you mean %q?", at)
	}
	d.fail(n, k, problem{"unknown key", mend})
}

// elsewhere finds the section that has a key of this name, if only one does.
func elsewhere(name string) string {
	found := ""
	for i := range reflect.TypeFor[Config]().NumField() {
		f := reflect.TypeFor[Config]().Field(i)
		if f.Type.Kind() != reflect.Struct {
			continue
		}
		if _, ok := field(f.Type, name); !ok {
			continue
		}
		if found != "" {
			return ""
		}
		found = Key(f.Tag.Get("toml"), name)
	}
	return found
}
