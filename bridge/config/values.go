package config

import (
	"fmt"
	"math"
	"reflect"

	"codex-bridge.example/bridge/toml"
)

// value sets v to a value that it checks by the row of the key. It reports whether the value is
// valid.
func (d *decoder) value(v reflect.Value, n *toml.Node, k keyPath) bool {
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
		on, ok := n.Scalar.(bool)
		if !ok {
			e = mismatch("true or false", n)
		}
		v.SetBool(on)
	default:
		var i int64
		i, e = s.number(v.Type(), n)
		v.SetInt(i)
	}
	return e == nil || d.fail(n.Value, k, e)
}

// unknownValue returns the strictest value of a key with a value that this version does not know. It returns ""
// for a key without an order; then the leaf is left out.
func (d *decoder) unknownValue(n *toml.Node, k keyPath) string {
	value := quote(n.Scalar.(string))
	strictest := strictestWord(k.pattern)
	if strictest == "" {
		d.warn(n.Value, k, newError("left out: this version does not know the value "+value, updateIt))
		d.hasUnknown = true
		d.incomplete = d.incomplete || k.pattern == "hooks.handler[].event"
		return ""
	}
	d.unknownSecurity = d.unknownSecurity || k.pattern == "policy.security"
	d.warn(n.Value, k, newError(fmt.Sprintf("%q holds, the strictest: this version does not know the value %s", strictest, value), updateIt))
	return strictest
}

// list reads a list of strings.
func (d *decoder) list(v reflect.Value, n *toml.Node, k keyPath) bool {
	s := specs[k.pattern]
	if n.List == nil {
		e := mismatch("a list of strings", n)
		if text, ok := n.Scalar.(string); ok {
			e.Hint = fmt.Sprintf("write [%s]", quote(text))
		}
		return d.fail(n.Value, k, e)
	}
	if (s.filled || s.program) && len(n.List) == 0 {
		return d.fail(n.Value, k, newError("empty", "write at least one value or leave the key out"))
	}
	if len(n.List) > maxList {
		return d.fail(n.List[maxList].Value, k, errTooMany())
	}
	if len(n.List) == 0 && nilIsAll(k.pattern) {
		return true
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, len(n.List)))
	valid := true
	for i, value := range n.List {
		item := reflect.New(v.Type().Elem()).Elem()
		ok := d.value(item, value, k.item(i))
		if ok && d.hasUnknown && item.String() == "" {
			d.hasUnknown = false // the list goes on without the element
			continue
		}
		if ok && i == 0 {
			first, e := s.checkFirst(d.paths, item.String())
			ok = e == nil || d.fail(value.Value, k.item(0), e)
			item.SetString(first)
		}
		v.Set(reflect.Append(v, item))
		valid = ok && valid
	}
	return valid
}

// entry reads a table that is one leaf: a rule, a handler, a tool.
func (d *decoder) entry(v reflect.Value, n *toml.Node, k keyPath) bool {
	if defaults := entryDefaults(k.pattern); defaults != nil {
		v.Set(reflect.ValueOf(defaults))
	}
	if n.Table == nil {
		return d.fail(n.Value, k, mismatch("a table", n))
	}
	valid := d.fields(v.Type(), n, k, func(f reflect.StructField, n *toml.Node, k keyPath) bool {
		return d.value(v.FieldByIndex(f.Index), n, k)
	})
	// If a key is wrong, it may be the one that is missing.
	switch e := specs[k.pattern].checkKeys(n.Table); {
	case e != nil && valid && d.hasUnknown:
		d.incomplete = true
		return true
	case e != nil && valid:
		valid = d.fail(n.Key, k, e)
	}
	if server, ok := v.Addr().Interface().(*ToolServer); ok {
		valid = d.server(server, n, k, valid)
	}
	return valid
}

// server sets the namespace of a tool server and checks its keys against each other.
func (d *decoder) server(s *ToolServer, n *toml.Node, k keyPath, valid bool) bool {
	if s.Namespace == "" {
		s.Namespace = k.parts[len(k.parts)-1]
		if e := checkNamespace(s.Namespace); e != nil {
			e.Hint = "set another namespace"
			valid = d.fail(n.Key, k, e)
		}
	}
	if !valid {
		return false
	}
	for key, e := range map[string]*Error{"protocol": checkProtocol(*s), "bearer_token_env": checkToken(*s)} {
		if e != nil {
			valid = d.fail(n.Table[key].Value, k.field(key), e)
		}
	}
	return valid
}

// json reads a value that becomes JSON.
func (d *decoder) json(v reflect.Value, n *toml.Node, k keyPath) bool {
	if v.Kind() == reflect.Map && n.Table == nil {
		return d.fail(n.Value, k, mismatch("a table", n))
	}
	if !d.isJSON(n, k) {
		return false
	}
	plain := n.Plain()
	if specs[k.pattern].schema {
		if e := checkSchema(plain.(map[string]any)); e != nil {
			return d.fail(n.Value, k, e)
		}
	}
	v.Set(reflect.ValueOf(plain))
	return true
}

// isJSON reports whether JSON can represent a value.
func (d *decoder) isJSON(n *toml.Node, k keyPath) bool {
	valid := true
	switch scalar := n.Scalar.(type) {
	case toml.Date:
		valid = d.fail(n.Value, k, newError("JSON has no dates and times", "write a string"))
	case float64:
		if math.IsNaN(scalar) || math.IsInf(scalar, 0) {
			valid = d.fail(n.Value, k, newError("not a finite number", "write a number or a string"))
		}
	}
	for name, value := range n.Table {
		valid = d.isJSON(value, k.field(name)) && valid
	}
	for i, value := range n.List {
		valid = d.isJSON(value, k.item(i)) && valid
	}
	return valid
}

func errTooMany() *Error {
	return newError(fmt.Sprintf("more than %d", maxList), "write fewer, with patterns")
}

// mismatch returns the error for a value of the wrong type. It does not show the value.
func mismatch(want string, n *toml.Node) *Error {
	got := "a table"
	switch n.Scalar.(type) {
	case string:
		got = "a string"
	case bool:
		got = "true or false"
	case int64:
		got = "a whole number"
	case float64:
		got = "a number"
	case toml.Date:
		got = "a date or time"
	case nil:
		if n.List != nil {
			got = "a list"
		}
	}
	return newError(fmt.Sprintf("%s where %s belongs", got, want), "write "+want)
}
