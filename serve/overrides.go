package serve

import (
	"encoding/json"
	"iter"
	"strings"

	"codex-bridge.example/rpc"
)

// Overrides are values of Codex's configuration by dotted key. No key is below another one.
//
// Measured with Codex 0.169: it splits a key at every dot, and sets one value after the other, those of a
// command line before those of a request. A value replaces the table, or the other value, at its key. Of a
// request it takes the values in a random order, so two keys of which one is below the other have no place.
type Overrides map[string]json.RawMessage

// Set sets one value after the others.
func (o Overrides) Set(key string, value json.RawMessage) {
	for at := range above(key) {
		if table, ok := o[at]; ok {
			if o[at], ok = setIn(table, strings.Split(key[len(at)+1:], "."), value); ok {
				return
			}
			delete(o, at) // a table takes its place
		}
	}
	for other := range o {
		if strings.HasPrefix(other, key+".") {
			delete(o, other)
		}
	}
	o[key] = value
}

// get returns the value at a key, nil if there is none.
func (o Overrides) get(key string) json.RawMessage {
	for at := range above(key) {
		value, ok := o[at]
		if !ok {
			continue
		}
		for _, name := range strings.Split(key[len(at)+1:], ".") {
			value = membersOf(value)[name]
		}
		return value
	}
	return o[key]
}

// leaves are the values that are no tables, with their keys. A table with a name that has a dot counts as a
// value, since no key leads into it.
func (o Overrides) leaves() iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		for key, value := range o {
			if !eachLeaf(key, value, yield) {
				return
			}
		}
	}
}

func eachLeaf(key string, value json.RawMessage, yield func(string, json.RawMessage) bool) bool {
	members := membersOf(value)
	for name := range members {
		if name == "" || strings.Contains(name, ".") {
			return yield(key, value)
		}
	}
	for name, member := range members {
		if !eachLeaf(key+"."+name, member, yield) {
			return false
		}
	}
	return len(members) > 0 || yield(key, value)
}

// above returns the keys above a key.
func above(key string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, c := range key {
			if c == '.' && !yield(key[:i]) {
				return
			}
		}
	}
}

// setIn returns a table with a value at a path below it. It returns false if it is no table.
func setIn(table json.RawMessage, path []string, value json.RawMessage) (json.RawMessage, bool) {
	members := membersOf(table)
	if members == nil {
		return nil, false
	}
	if len(path) > 1 {
		below, ok := setIn(members[path[0]], path[1:], value)
		if !ok {
			below, _ = setIn(json.RawMessage("{}"), path[1:], value)
		}
		value = below
	}
	members[path[0]] = value
	return rpc.Encode(members), true
}

// membersOf returns the members of a table, nil for another value.
func membersOf(value json.RawMessage) (members map[string]json.RawMessage) {
	if json.Unmarshal(value, &members) != nil {
		return nil
	}
	return members
}
