package userrules

import (
	"errors"
	"fmt"
	"slices"
)

// parameters are those of the functions of a rules file, in the order in which Codex takes their
// values without a name (measured for prefix_rule; the others have no effect here).
var parameters = map[string][]string{
	"prefix_rule":     {"pattern", "decision", "match", "not_match", "justification"},
	"host_executable": {"name", "paths"}, // ignored: programs match by name in any folder
	"network_rule":    {"host", "protocol", "decision", "justification"},
}

// load returns the rules of a file.
func load(file string, text []byte) (found []Rule, err error) {
	calls, err := parse(text)
	if err != nil {
		return nil, err
	}
	for _, c := range calls {
		values, err := c.bind()
		if err == nil && c.name == "prefix_rule" {
			var r Rule
			if r, err = newRule(values); err == nil {
				r.File, r.Line = file, c.line
				found = append(found, r)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", c.line, c.name, err)
		}
	}
	return found, nil
}

// bind returns the values of a call by the names of the parameters.
func (c *call) bind() (map[string]value, error) {
	names, ok := parameters[c.name]
	if !ok {
		return nil, notPlain("it is not prefix_rule, host_executable or network_rule")
	}
	values := make(map[string]value)
	for i, a := range c.arguments {
		name := a.name
		switch {
		case name == "" && i >= len(names):
			return nil, notPlain(fmt.Sprintf("it has more than %d values", len(names)))
		case name == "":
			name = names[i]
		case !slices.Contains(names, name):
			return nil, notPlain("it has the parameter " + name + ", which is not known")
		}
		if _, twice := values[name]; twice {
			return nil, fmt.Errorf("two values for %s", name)
		}
		values[name] = a.value
	}
	return values, nil
}

func newRule(values map[string]value) (Rule, error) {
	r := Rule{Decision: Allow}
	if d, ok := values["decision"]; ok {
		r.Decision = d.text
		if d.isList || d.text != Allow && d.text != Prompt && d.text != Forbidden {
			return r, fmt.Errorf("the decision %q is not allow, prompt or forbidden", d.text)
		}
	}
	pattern, ok := values["pattern"]
	switch {
	case !ok:
		return r, errors.New("the pattern is missing")
	case !pattern.isList || len(pattern.list) == 0:
		return r, errors.New("the pattern is no list of words")
	}
	for _, v := range pattern.list {
		if !v.isList {
			r.Pattern = append(r.Pattern, []string{v.text})
			continue
		}
		var words []string
		for _, one := range v.list {
			if one.isList {
				return r, errors.New("an alternative is a list")
			}
			words = append(words, one.text)
		}
		if len(words) == 0 {
			return r, errors.New("there are no alternatives")
		}
		r.Pattern = append(r.Pattern, words)
	}
	return r, nil
}
