package userrules

// Parse returns the Set of one file's text.
func Parse(text string) *Set {
	found, err := load("own.rules", []byte(text))
	return &Set{Rules: found, Err: err}
}
