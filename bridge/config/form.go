package config

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// The forms a field of Config has in a file.
const (
	aValue   = iota // a string, number, boolean or list of strings
	aSection        // [policy]
	aMap            // [policy.methods], [tools.NAME]: names that the user chooses
	aTables         // [[policy.rule]]
)

func form(t reflect.Type) int {
	switch {
	case t.Kind() == reflect.Struct:
		return aSection
	case t.Kind() == reflect.Map:
		return aMap
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return aTables
	}
	return aValue
}

// field finds the field of a key, with its exact case.
func field(t reflect.Type, key string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && f.Tag.Get("toml") == key && key != "-" {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && f.Tag.Get("toml") != "-" {
			names = append(names, f.Tag.Get("toml"))
		}
	}
	return names
}

// asList takes the two forms in which the library gives lists.
func asList(raw any) ([]any, bool) {
	switch raw := raw.(type) {
	case []any:
		return raw, true
	case []map[string]any:
		list := make([]any, len(raw))
		for i, v := range raw {
			list[i] = v
		}
		return list, true
	}
	return nil, false
}

// plain makes a value what encoding/json would make of it, but for whole
// numbers, which stay int64.
func plain(raw any) any {
	if table, ok := raw.(map[string]any); ok {
		out := make(map[string]any, len(table))
		for k, v := range table {
			out[k] = plain(v)
		}
		return out
	}
	if list, ok := asList(raw); ok {
		out := make([]any, len(list))
		for i, v := range list {
			out[i] = plain(v)
		}
		return out
	}
	return raw
}

// mismatch says that a value has the wrong type, without showing it.
func mismatch(want string, raw any) problem {
	got := "a table"
	switch raw.(type) {
	case string:
		got = "a string"
	case bool:
		got = "true or false"
	case int64:
		got = "a whole number"
	case float64:
		got = "a number"
	case time.Time:
		got = "a date or time"
	case []any, []map[string]any:
		got = "a list"
	}
	return problem{fmt.Sprintf("%s where %s belongs", got, want), "write " + want}
}

// split parts the message of a parse error from its mend.
func split(err error) problem {
	message, mend, _ := strings.Cut(err.Error(), "; ")
	return problem{message, mend}
}
