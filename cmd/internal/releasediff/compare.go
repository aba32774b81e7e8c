// Package releasediff compares two releases of Codex. For each new name it proposes what the bridge
// should do with it, after the most similar name that the bridge knows, and it writes the proposals
// as a patch.
package releasediff

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/methods"
)

// Change is a name that one of two releases lacks, or whose meaning differs. The JSON names are
// stable.
type Change struct {
	// Change is "new", "gone" or "changed", and the kind: "new method", "gone enum value".
	Change string `json:"change"`
	Kind   Kind   `json:"-"`
	// Side and Method are set for a method, and for a field of a method.
	Side   *methods.Side `json:"side,omitempty"`
	Method string        `json:"method,omitempty"`
	Field  string        `json:"field,omitempty"`
	// Type is the type of a field or of an enum value, Command the command of a flag.
	Type    string `json:"type,omitempty"`
	Command string `json:"command,omitempty"`
	Name    string `json:"name,omitempty"` // of all other kinds
	Was     string `json:"was,omitempty"`
	Is      string `json:"is,omitempty"`
	// Like is the most similar name, and Class and Verdict are what the bridge does with that. They
	// are a proposal for a new name.
	Like    string        `json:"like,omitempty"`
	Class   methods.Class `json:"class,omitempty"`
	Verdict string        `json:"verdict,omitempty"`
	Place   string        `json:"place,omitempty"` // the files to change
}

// Kind is the kind of a name.
type Kind string

// The kinds.
const (
	Method           Kind = "method"
	Field            Kind = "field"          // of params, or of a type in them
	ResponseField    Kind = "response field" // of a client's response
	Type             Kind = "type"
	EnumValue        Kind = "enum value"
	HookEvent        Kind = "hook event"
	RequirementField Kind = "requirement field"
	Flag             Kind = "flag"
	Command          Kind = "command"
	ConfigKey        Kind = "config key"
	Feature          Kind = "feature"
)

const (
	isNew   = "new"
	gone    = "gone"
	changed = "changed"
)

// Compare returns the differences between two releases, sorted by kind and name, with proposals for
// new names. It skips parts that could not be read from one of them.
func Compare(tested, other *codex.Release) ([]Change, error) {
	c := &comparison{}
	c.compareMethods(tested, other)
	read := func(part codex.Part) bool { return tested.Unread[part] == "" && other.Unread[part] == "" }
	if read(codex.PartTypes) {
		c.compareLists(tested.Types, other.Types, Type, func(name, field string) Change {
			return Change{Kind: Field, Type: name, Field: field}
		})
		c.compareEnums(tested.Enums, other.Enums)
		c.compareLists(tested.Requirements, other.Requirements, Type, func(name, field string) Change {
			return Change{Kind: RequirementField, Type: name, Name: field}
		})
	}
	if read(codex.PartFeatures) {
		c.compareFeatures(tested.Features, other.Features)
	}
	if read(codex.PartFlags) {
		c.compareNames(tested.Commands, other.Commands, func(name string) Change { return Change{Kind: Command, Name: name} })
		c.compareLists(tested.Flags, other.Flags, Flag, func(command, flag string) Change {
			return Change{Kind: Flag, Command: command, Name: flag}
		})
	}
	if read(codex.PartConfigKeys) {
		c.compareNames(tested.ConfigKeys, other.ConfigKeys, func(key string) Change { return Change{Kind: ConfigKey, Name: key} })
	}
	err := propose(tested, other, c.changes)
	return c.changes, err
}

// comparison collects changes.
type comparison struct{ changes []Change }

func (c *comparison) add(how string, one Change) {
	one.Change = how + " " + string(one.Kind)
	c.changes = append(c.changes, one)
}

func (c *comparison) compareMethods(tested, other *codex.Release) {
	c.changes = []Change{}
	for _, side := range methods.Sides() {
		for _, name := range union(tested.Methods[side], other.Methods[side]) {
			was, had := tested.Methods[side][name]
			is, has := other.Methods[side][name]
			method := Change{Kind: Method, Side: &side, Method: name}
			switch {
			case !had:
				c.add(isNew, method)
			case !has:
				c.add(gone, method)
			default:
				if was.Experimental != is.Experimental {
					method.Was, method.Is = stability(was), stability(is)
					c.add(changed, method)
				}
				c.compareNames(was.Params, is.Params, func(field string) Change {
					return Change{Kind: Field, Side: &side, Method: name, Field: field}
				})
				c.compareNames(was.Answer, is.Answer, func(field string) Change {
					return Change{Kind: ResponseField, Side: &side, Method: name, Field: field}
				})
			}
		}
	}
}

func stability(m codex.MethodShape) string {
	if m.Experimental {
		return "experimental"
	}
	return "stable"
}

// compareNames compares two lists. change describes one name that a list lacks.
func (c *comparison) compareNames(was, is []string, change func(name string) Change) {
	for _, name := range is {
		if !slices.Contains(was, name) {
			c.add(isNew, change(name))
		}
	}
	for _, name := range was {
		if !slices.Contains(is, name) {
			c.add(gone, change(name))
		}
	}
}

// compareLists compares lists by name. A list that one release lacks is one change, of kind whole.
func (c *comparison) compareLists(was, is map[string][]string, whole Kind, change func(name, entry string) Change) {
	for _, name := range union(was, is) {
		old, had := was[name]
		now, has := is[name]
		switch {
		case !had:
			c.add(isNew, Change{Kind: whole, Name: name})
		case !has:
			c.add(gone, Change{Kind: whole, Name: name})
		default:
			c.compareNames(old, now, func(entry string) Change { return change(name, entry) })
		}
	}
}

func (c *comparison) compareEnums(was, is map[string][]string) {
	c.compareLists(was, is, Type, func(name, value string) Change {
		if name == codex.HookEvents {
			return Change{Kind: HookEvent, Name: value}
		}
		return Change{Kind: EnumValue, Type: name, Name: value}
	})
}

func (c *comparison) compareFeatures(was, is map[string]string) {
	for _, name := range union(was, is) {
		one := Change{Kind: Feature, Name: name, Was: was[name], Is: is[name]}
		switch {
		case one.Was == "":
			c.add(isNew, one)
		case one.Is == "":
			c.add(gone, one)
		case one.Was != one.Is:
			c.add(changed, one)
		}
	}
}

// union returns the keys of both maps, sorted.
func union[T any](a, b map[string]T) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// String returns the change as one line, with the proposal.
func (c Change) String() string {
	words := []string{fmt.Sprintf("%-21s", c.Change)}
	if c.Side != nil {
		words = append(words, c.Side.String())
	}
	for _, word := range []string{c.Method, c.Type, c.Command, c.Field, c.Name} {
		if word != "" {
			words = append(words, word)
		}
	}
	line := strings.Join(words, "  ")
	switch {
	case c.Was != "" && c.Is != "":
		line += ": " + c.Is + ", was " + c.Was
	case c.Is != "":
		line += ": " + c.Is
	}
	var proposal []string
	if c.Verdict != "" {
		proposal = append(proposal, c.Verdict)
	}
	if c.Class != "" {
		proposal = append(proposal, string(c.Class))
	}
	if c.Like != "" {
		proposal = append(proposal, "like "+c.Like)
	}
	if proposal != nil {
		line += "  (proposal: " + strings.Join(proposal, ", ") + ")"
	}
	return line
}
