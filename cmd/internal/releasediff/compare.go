// Package releasediff compares two releases of Codex. For each new name it proposes what the bridge
// should do with it, after the most similar name that the bridge knows, and it writes the proposals
// as a patch.
package releasediff

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"codex-bridge.example/bridge/codex/release"
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
	// Model is the kind of model that a tool is offered, Tool the tool of a parameter.
	Model release.ModelKind `json:"model,omitempty"`
	Tool  string            `json:"tool,omitempty"`
	Name  string            `json:"name,omitempty"` // of all other kinds
	Was   string            `json:"was,omitempty"`
	Is    string            `json:"is,omitempty"`
	// Like is the most similar name, and Class and Verdict are what the bridge does with that. They
	// are a proposal for a new name.
	Like    string        `json:"like,omitempty"`
	Class   methods.Class `json:"class,omitempty"`
	Verdict string        `json:"verdict,omitempty"`
	Place   string        `json:"place,omitempty"` // the files to change
	Why     string        `json:"why,omitempty"`   // a part is not compared
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
	SentField        Kind = "sent field" // of a type that Codex sends, such as a response or an item
	SentType         Kind = "sent type"
	Flag             Kind = "flag"         // of release.Commands
	CommandFlag      Kind = "command flag" // of another command
	Command          Kind = "command"
	ConfigKey        Kind = "config key"
	Feature          Kind = "feature"
	DefaultModel     Kind = "default model"
	Model            Kind = "model"
	Tool             Kind = "tool"
	ToolParameter    Kind = "tool parameter"
)

// NotCompared is Change.Change of a part that could not be read. The part is in Change.Name.
const NotCompared = "not compared"

const (
	isNew   = "new"
	gone    = "gone"
	changed = "changed"
)

// Compare returns the differences between two releases, sorted by kind and name, with proposals for
// new names. It skips parts that could not be read from one of them, and what the table says of an older release.
func Compare(tested, other *release.Release) ([]Change, error) {
	c := &comparison{changes: []Change{}}
	read := func(part release.Part) bool { return tested.Unread[part] == "" && other.Unread[part] == "" }
	if read(release.PartMethods) {
		c.compareMethods(tested, other)
	}
	if read(release.PartTypes) {
		c.compareLists(tested.Types, other.Types, Type, func(name, field string) Change {
			return Change{Kind: Field, Type: name, Field: field}
		})
		c.compareEnums(tested.Enums, other.Enums)
		c.compareLists(tested.Requirements, other.Requirements, Type, func(name, field string) Change {
			return Change{Kind: RequirementField, Type: name, Name: field}
		})
		c.compareLists(tested.Sent, other.Sent, SentType, func(name, field string) Change {
			return Change{Kind: SentField, Type: name, Field: field}
		})
	}
	if read(release.PartFeatures) {
		c.compareValues(tested.Features, other.Features, Feature)
	}
	if read(release.PartFlags) {
		c.compareNames(tested.Commands, other.Commands, func(name string) Change { return Change{Kind: Command, Name: name} })
		c.compareLists(tested.Flags, other.Flags, Flag, func(command, flag string) Change {
			return Change{Kind: Flag, Command: command, Name: flag}
		})
		c.compareCommandFlags(tested, other)
	}
	if read(release.PartConfigKeys) {
		c.compareNames(tested.ConfigKeys, other.ConfigKeys, func(key string) Change { return Change{Kind: ConfigKey, Name: key} })
	}
	if read(release.PartModels) {
		if was, is := tested.DefaultModel, other.DefaultModel; was != is {
			c.add(changed, Change{Kind: DefaultModel, Was: was, Is: is})
		}
		c.compareValues(tested.Models, other.Models, Model)
	}
	if read(release.PartTools) {
		c.compareTools(tested.Tools, other.Tools)
	}
	changes, err := dropKnown(tested, other, c.changes)
	if err != nil {
		return nil, err
	}
	return changes, propose(tested, other, changes)
}

// comparison collects changes.
type comparison struct{ changes []Change }

func (c *comparison) add(how string, one Change) {
	one.Change = how + " " + string(one.Kind)
	c.changes = append(c.changes, one)
}

func (c *comparison) compareMethods(tested, other *release.Release) {
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

func stability(m release.MethodShape) string {
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
		if name == release.HookEvents {
			return Change{Kind: HookEvent, Name: value}
		}
		return Change{Kind: EnumValue, Type: name, Name: value}
	})
}

// compareCommandFlags compares the flags of the commands that both releases have.
func (c *comparison) compareCommandFlags(tested, other *release.Release) {
	for _, command := range tested.Commands {
		if slices.Contains(other.Commands, command) {
			c.compareNames(tested.CommandFlags[command], other.CommandFlags[command], func(flag string) Change {
				return Change{Kind: CommandFlag, Command: command, Name: flag}
			})
		}
	}
}

func (c *comparison) compareTools(was, is map[release.ModelKind]map[string][]string) {
	for _, model := range []release.ModelKind{release.DefaultModel, release.DirectModel} {
		for _, name := range union(was[model], is[model]) {
			old, had := was[model][name]
			now, has := is[model][name]
			switch {
			case !had:
				c.add(isNew, Change{Kind: Tool, Model: model, Name: name})
			case !has:
				c.add(gone, Change{Kind: Tool, Model: model, Name: name})
			default:
				c.compareNames(old, now, func(param string) Change {
					return Change{Kind: ToolParameter, Model: model, Tool: name, Name: param}
				})
			}
		}
	}
}

// compareValues compares a property by name.
func (c *comparison) compareValues(was, is map[string]string, kind Kind) {
	for _, name := range union(was, is) {
		one := Change{Kind: kind, Name: name, Was: was[name], Is: is[name]}
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

// Unread returns the parts of a release that are not compared, in the order of release.Parts.
func Unread(r *release.Release) (list []Change) {
	for _, part := range release.Parts() {
		if why := r.Unread[part]; why != "" {
			list = append(list, Change{Change: NotCompared, Name: string(part), Why: why})
		}
	}
	return list
}

// Summary counts changes in one line: "3 new methods, 1 gone flag".
func Summary(changes []Change) string {
	var order []string
	count := make(map[string]int)
	for _, c := range changes {
		if count[c.Change]++; count[c.Change] == 1 {
			order = append(order, c.Change)
		}
	}
	for i, what := range order {
		order[i] = fmt.Sprintf("%d %s", count[what], what)
		if count[what] > 1 {
			order[i] += "s"
		}
	}
	if order == nil {
		return "no difference"
	}
	return strings.Join(order, ", ")
}

// String returns the change as one line, with the proposal.
func (c Change) String() string {
	words := []string{fmt.Sprintf("%-21s", c.Change)}
	if c.Side != nil {
		words = append(words, c.Side.String())
	}
	for _, word := range []string{c.Method, c.Type, c.Command, string(c.Model), c.Tool, c.Field, c.Name} {
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
