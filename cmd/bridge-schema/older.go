package main

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"codex-bridge.example/bridge/methods"
)

// keepOlder adds the shapes that older supported releases have and this one lacks: those of methods that the table
// still has, and members, values and variants. A member that one of both lacks is not required.
func keepOlder(now, older *methods.ShapeTable) {
	has := func(side methods.Side) func(string) bool {
		return func(method string) bool {
			_, ok := methods.Lookup(side, method)
			return ok
		}
	}
	keepShapes(now.Requests, older.Requests, has(methods.ClientRequest))
	keepShapes(now.Notifications, older.Notifications, has(methods.ClientNotification))
	keepShapes(now.Answers, older.Answers, has(methods.ServerRequest))
	keepShapes(now.Definitions, older.Definitions, func(string) bool { return true })
}

func keepShapes(now, older map[string]*methods.Shape, has func(string) bool) {
	for name, was := range older {
		switch {
		case now[name] != nil:
			now[name] = widen(now[name], was)
		case has(name):
			now[name] = was
		}
	}
}

// widen returns a shape that has all values of both.
func widen(now, was *methods.Shape) *methods.Shape {
	if reflect.DeepEqual(now, was) {
		return now
	}
	if now.Ref != was.Ref || now.Tag != was.Tag {
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

func takesAnyText(s *methods.Shape) bool {
	return strings.ContainsRune(s.Kinds, methods.KindString) && len(s.Enum) == 0
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
