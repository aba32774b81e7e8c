package policy

import (
	"slices"
	"strings"
)

// Judged returns the checked and the unchecked members of a method's params; false if the package
// does not check the method's fields.
func Judged(name string) (judged, plain []string, ok bool) {
	m := methodTable()[name]
	if m == nil {
		return nil, nil, false
	}
	for _, r := range m.rules {
		judged = append(judged, r.fields...)
	}
	return judged, m.unchecked, true
}

// JudgedMethods returns the number of methods whose fields the package checks.
func JudgedMethods() int { return len(methodTable()) }

// OverrideRow is a row of the table of overrides. Never reports that no pattern in policy.config_keys allows
// the key, Optional that each value may be lost.
type OverrideRow struct {
	Key, Narrowest, Loss string
	Removable            []string
	Never, Optional      bool
}

// Overrides has the table of overrides.
var Overrides = func() (rows []OverrideRow) {
	for _, row := range keys().overrides {
		removable := row.removable
		switch row.narrowest {
		case "true":
			removable = []string{"false"}
		case "false":
			removable = []string{"true"}
		}
		optional := slices.Contains(removable, anyValue)
		if optional {
			removable = []string{`"x"`, `["x"]`, "1", "true"}
		}
		never := forbiddenReason(strings.Split(row.key, "."), true) != ""
		rows = append(rows, OverrideRow{row.key, row.narrowest, row.loss, removable, never, optional})
	}
	return rows
}()
