package policy

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

// Overrides has the table of overrides.
var Overrides = func() (rows []struct{ Key, Narrowest, Loss string }) {
	for _, row := range overrides {
		rows = append(rows, struct{ Key, Narrowest, Loss string }{row.key, row.narrowest, row.loss})
	}
	return rows
}()
