package main

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"codex-bridge.example/bridge/methods"
)

// olderTable is the text of older.txt.
//
//go:embed older.txt
var olderTable string

// keepOlder adds the shapes that older supported releases have and this one lacks: those of methods that the table
// still has, and members, values and variants. A member that one of both lacks is not required. It returns the lines of
// older.txt for what it adds.
func keepOlder(now, older *methods.ShapeTable) (kept []string) {
	known := func(side methods.Side) func(string) bool {
		return func(method string) bool {
			_, ok := methods.Lookup(side, method)
			return ok
		}
	}
	keep := func(table string, now, older map[string]*methods.Shape, known func(string) bool) {
		for _, name := range slices.Sorted(maps.Keys(older)) {
			wide, was := now[name], older[name]
			switch {
			case wide != nil:
				wide = widen(wide, was)
			case known(name):
				wide = was
			}
			if !reflect.DeepEqual(wide, now[name]) {
				now[name], kept = wide, append(kept, table+" | "+name)
			}
		}
	}
	keep("requests", now.Requests, older.Requests, known(methods.ClientRequest))
	keep("notifications", now.Notifications, older.Notifications, known(methods.ClientNotification))
	keep("answers", now.Answers, older.Answers, known(methods.ServerRequest))
	keep("definitions", now.Definitions, older.Definitions, func(string) bool { return true })
	return kept
}

// checkOlder compares the lines of older.txt with those that keepOlder returned.
func checkOlder(text string, kept []string) error {
	var faults []error
	err := methods.EachRow("older.txt", text, 2, func(cells []string) error {
		line := strings.Join(cells, " | ")
		if at := slices.Index(kept, line); at >= 0 {
			kept = slices.Delete(kept, at, at+1)
		} else {
			faults = append(faults, fmt.Errorf("cmd/bridge-schema/older.txt has %q, and no older release has more there", line))
		}
		return nil
	})
	for _, line := range kept {
		faults = append(faults, fmt.Errorf("shapes.json has more than Codex's schema in %q; if an older supported release has it, add the line to cmd/bridge-schema/older.txt, else restore shapes.json", line))
	}
	return errors.Join(append(faults, err)...)
}

// withOlder returns the text of older.txt with the lines that keepOlder returned.
func withOlder(text string, kept []string) []byte {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	for _, line := range kept {
		b.WriteString(line + "\n")
	}
	return []byte(b.String())
}

// widen returns a shape that has all values of both.
func widen(now, was *methods.Shape) *methods.Shape {
	if reflect.DeepEqual(now, was) {
		return now
	}
	if now.Ref != was.Ref || now.Tag != was.Tag || has(now, methods.KindArray) != has(was, methods.KindArray) || has(now, methods.KindObject) != has(was, methods.KindObject) {
		return &methods.Shape{Any: []*methods.Shape{now, was}}
	}
	wide := *now
	for _, kind := range was.Kinds {
		if !strings.ContainsRune(wide.Kinds, kind) {
			wide.Kinds += string(kind)
		}
	}
	for _, one := range was.Any {
		if !slices.ContainsFunc(wide.Any, func(other *methods.Shape) bool { return reflect.DeepEqual(one, other) }) {
			wide.Any = append(slices.Clip(wide.Any), one)
		}
	}
	for _, value := range was.Enum {
		if !slices.Contains(wide.Enum, value) {
			wide.Enum = append(slices.Clip(wide.Enum), value)
		}
	}
	if takesAnyText(now) || takesAnyText(was) {
		wide.Enum = nil
	}
	for _, name := range was.Refused {
		if !slices.Contains(wide.Refused, name) {
			wide.Refused = append(slices.Clip(wide.Refused), name)
		}
	}
	wide.Members, wide.Variants = widenAll(now.Members, was.Members), widenAll(now.Variants, was.Variants)
	wide.Required = slices.DeleteFunc(slices.Clone(now.Required), func(name string) bool { return was.Members != nil && !slices.Contains(was.Required, name) })
	if now.Elem != nil && was.Elem != nil {
		wide.Elem = widen(now.Elem, was.Elem)
	}
	if now.Values != nil && was.Values != nil {
		wide.Values = widen(now.Values, was.Values)
	}
	switch {
	case now.Untagged == nil:
		wide.Untagged = was.Untagged
	case was.Untagged != nil:
		wide.Untagged = widen(now.Untagged, was.Untagged)
	}
	return &wide
}

func has(s *methods.Shape, kind rune) bool { return strings.ContainsRune(s.Kinds, kind) }

func takesAnyText(s *methods.Shape) bool {
	return has(s, methods.KindString) && len(s.Enum) == 0
}

func widenAll(now, was map[string]*methods.Shape) map[string]*methods.Shape {
	if was == nil {
		return now
	}
	wide := maps.Clone(now)
	if wide == nil {
		wide = make(map[string]*methods.Shape)
	}
	for name, one := range was {
		if wide[name] == nil {
			wide[name] = one
		} else {
			wide[name] = widen(wide[name], one)
		}
	}
	return wide
}
