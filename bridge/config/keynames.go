package config

import (
	"iter"
	"reflect"
	"slices"
	"strings"
)

const (
	removeIt = "remove it"
	updateIt = "update codex-bridge, or remove it"
)

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
