package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// ParseDuration returns the duration of a text.
func ParseDuration(text string) (Duration, error) {
	d, err := parseDuration(text)
	if err != nil {
		return 0, err
	}
	return d, nil
}

// ParseSize returns the size of a text.
func ParseSize(text string) (Size, error) {
	s, err := parseSize(text)
	if err != nil {
		return 0, err
	}
	return s, nil
}

// Show returns the text of a value. Of quoted keys, it takes those of policy.methods only.
func Show(c *Config, key string) string {
	switch key {
	case "policy.rule":
		var list []string
		for _, group := range c.Policy.RuleLayers() {
			var rules []string
			for _, r := range group {
				rules = append(rules, fmt.Sprintf("%s %s", r.Decision, strings.TrimSpace(r.Tool+r.Command+r.Path)))
			}
			list = append(list, fmt.Sprintf("%v[%s]", group[0].Origin.Layer, strings.Join(rules, ", ")))
		}
		return strings.Join(list, " ")
	case "hooks.on":
		return fmt.Sprint(c.Hooks.On)
	}
	parts := strings.Split(key, ".")
	if rest, ok := strings.CutPrefix(key, "policy.methods."); ok {
		parts = []string{"policy", "methods", strings.Trim(rest, `"`)}
	}
	v := get(reflect.ValueOf(c).Elem(), parts)
	if !v.IsValid() {
		return "nothing"
	}
	return show(v)
}

// Tables returns the keys of the tables that must agree.
func Tables() (keys, orders, workspace []string) {
	for k := range specs {
		keys = append(keys, k)
	}
	for k := range tighten {
		orders = append(orders, k)
	}
	slices.Sort(keys)
	slices.Sort(orders)
	return keys, orders, workspaceKeys
}

// Bounds returns the bounds of a number, a duration in nanoseconds or a size. Both are 0 without
// bounds.
func Bounds(pattern string) (minimum, maximum int64) {
	return specs[pattern].minimum, specs[pattern].maximum
}

// Tightens returns how a later layer may change a key, or "".
func Tightens(pattern string) string { return tighten[pattern].words }

// KeyOrder returns the keys of a section in the order of the fields.
func KeyOrder(section string) []string {
	t := reflect.TypeFor[Config]()
	for name := range strings.SplitSeq(section, ".") {
		if name == "*" {
			t = t.Elem()
			continue
		}
		list, isList := strings.CutSuffix(name, "[]")
		f, _ := field(t, list)
		if t = f.Type; isList {
			t = t.Elem()
		}
	}
	var names []string
	for name := range fields(t) {
		names = append(names, name)
	}
	return names
}

// DurationForm is the pattern of a duration in the schema.
func DurationForm() string { return durationForm.String() }

// Functions with tests of their own.
var (
	WorkspaceAllows  = workspaceAllows
	Narrower         = narrower
	NarrowerKeys     = narrowerKeys
	NarrowerCommands = narrowerCommands
	OpenFile         = openFile
)

// WatchSteps returns the two steps of Watch: one that looks for a change, and one that reports it.
func WatchSteps(opts Options) (differs func() bool, check func(func(*Config, error))) {
	w := newWatcher(opts)
	return w.differs, w.check
}

// Errors returns the errors that an error of Load consists of.
func Errors(err error) []*Error {
	var list []*Error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			list = append(list, Errors(e)...)
		}
		return list
	}
	var e *Error
	if errors.As(err, &e) {
		list = append(list, e)
	}
	return list
}
