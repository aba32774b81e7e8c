package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Places returns "line:column" for every key that locate finds, by its full
// key, and whether it followed the text to the end.
func Places(src string) (map[string]string, bool) {
	root, _, err := locate(src)
	out := map[string]string{}
	l := newLines(src)
	var walk func(n *node, key string)
	walk = func(n *node, key string) {
		if key != "" {
			line, column := l.place(n.at)
			out[key] = fmt.Sprintf("%d:%d", line, column)
		}
		for name, sub := range n.keys {
			dot := "."
			if key == "" {
				dot = ""
			}
			walk(sub, key+dot+Key(name))
		}
		for i, sub := range n.items {
			walk(sub, fmt.Sprintf("%s[%d]", key, i))
		}
	}
	walk(root, "")
	return out, err == nil
}

// Show writes the value of a key that has no quoted parts, or that is one
// below policy.methods.
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

// Tables gives the tests the tables that must agree.
func Tables() (keys, orders, workspace []string) {
	for k := range specs {
		keys = append(keys, k)
	}
	for k := range tighten {
		orders = append(orders, k)
	}
	slices.Sort(keys)
	slices.Sort(orders)
	return keys, orders, workspaceMay
}

// Bounds returns the least and the most of a number, a duration in nanoseconds or a size;
// both are 0 without bounds.
func Bounds(pattern string) (least, most int64) { return specs[pattern].least, specs[pattern].most }

// Tightens returns what a later layer may do to a key, in words, or "".
func Tightens(pattern string) string { return tighten[pattern].words }

// KeyOrder returns the keys of a section in the order of the type that has them.
func KeyOrder(section string) []string {
	t := reflect.TypeFor[Config]()
	for name := range strings.SplitSeq(section, ".") {
		for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
			if field := t.Field(i); field.Tag.Get("toml") == strings.TrimSuffix(name, "[]") {
				t = field.Type
				break
			}
		}
		if name == "*" || strings.HasSuffix(name, "[]") {
			t = t.Elem()
		}
	}
	var names []string
	for i := range t.NumField() {
		field := t.Field(i)
		if name := field.Tag.Get("toml"); field.IsExported() && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// DurationForm is the pattern of a duration in the schema.
func DurationForm() string { return durationForm.String() }

// WorkspaceAllows, DecodeTOML and Narrower are tested by themselves.
var (
	WorkspaceAllows = workspaceAllows
	DecodeTOML      = decodeTOML
	Narrower        = narrower
	NarrowerKeys    = narrowerKeys

	NarrowerCommands = narrowerCommands
)

// Patience is how long the files of one configuration have to rest after each event.
func Patience() func(time.Time) time.Duration { return new(patience).wait }
