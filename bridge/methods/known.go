package methods

import (
	"maps"
	"sync"
)

// isKnownMethod reports whether the program's own tables have a method of this name, or a look-alike, on any side.
func isKnownMethod(method string) bool { return knownMethods()[FoldName(method)] }

// knownMethods are the folded names of all methods.
var knownMethods = sync.OnceValue(func() map[string]bool {
	known := make(map[string]bool)
	for row := range Rows() {
		known[FoldName(row.Method)] = true
	}
	return known
})

// ruledFields are the folded names of the fields that a rule checks in some method. The thread's name is not among
// them: methods that pass may name any.
var ruledFields = sync.OnceValue(func() map[string]bool {
	ruled, threads := make(map[string]bool), make(map[string]bool)
	for row := range Rows() {
		for _, field := range row.Params {
			switch field.Rule {
			case AnyValue:
			case KnownThread:
				threads[FoldName(field.Name)] = true
			default:
				ruled[FoldName(field.Name)] = true
			}
		}
	}
	maps.DeleteFunc(ruled, func(name string, _ bool) bool { return threads[name] })
	return ruled
})

// fieldsOf returns the folded names of the fields that a client's method has in the program's own tables and in Codex's
// schema; nil for another method.
func fieldsOf(method string) map[string]bool {
	var all map[string]bool
	shapes := Shapes()
	for side, shape := range map[Side]*Shape{ClientRequest: shapes.Requests[method], ClientNotification: shapes.Notifications[method]} {
		row, ok := Lookup(side, method)
		if !ok {
			continue
		}
		names := make(map[string]bool)
		shape.addMembers(shapes.Definitions, names)
		for _, field := range row.Params {
			names[field.Name] = true
		}
		if all == nil {
			all = make(map[string]bool)
		}
		for name := range maps.Keys(names) {
			all[FoldName(name)] = true
		}
	}
	return all
}
