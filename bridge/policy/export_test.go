package policy

// Judged are the members of a method's params that rules speak of, and those they
// don't; false when the method is not judged by its fields.
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

// JudgedMethods is the number of methods that are judged by their fields.
func JudgedMethods() int { return len(methodTable()) }
