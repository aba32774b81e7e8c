package policy

import (
	"maps"
	"slices"
)

// Methods are the client's methods that Decide judges, sorted. All others pass.
func Methods() []string { return slices.Sorted(maps.Keys(methodTable())) }
