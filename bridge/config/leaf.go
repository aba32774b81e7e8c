package config

import (
	"fmt"
	"reflect"
	"slices"
)

// keyPath is one key in the three forms that are needed.
type keyPath struct {
	parts   []string // without indices
	shown   string   // policy.rule[0].decision
	pattern string   // policy.rule[].decision, tools.*.timeout
}

func (k keyPath) key(name string) keyPath { return k.with(name, name) }

func (k keyPath) entry(name string) keyPath { return k.with(name, "*") }

func (k keyPath) with(name, pattern string) keyPath {
	dot := ""
	if k.shown != "" {
		dot = "."
	}
	return keyPath{append(slices.Clip(k.parts), name), k.shown + dot + Key(name), k.pattern + dot + pattern}
}

func (k keyPath) item(i int) keyPath {
	return keyPath{k.parts, fmt.Sprintf("%s[%d]", k.shown, i), k.pattern + "[]"}
}

// leaf is one key that a file sets, with its checked value: what layers are
// merged by. Rules, handlers and the entries of tables such as tools are
// leaves as a whole.
type leaf struct {
	keyPath
	value  reflect.Value
	origin Origin
	adds   bool // to a list: rules and handlers
	at     int
}

// layer is a decoded file.
type layer struct {
	source
	leaves   []leaf
	sections map[string]Origin // where each section is first mentioned
}
