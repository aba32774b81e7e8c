package userrules

// Parse returns the Set of one file's text.
func Parse(text string) *Set {
	found, err := load("own.rules", []byte(text))
	return &Set{Rules: found, Err: err}
}

// HoldRead is a call of Read that has not ended.
func (r *Reader) HoldRead() (end func()) {
	r.mu.RLock()
	return r.mu.RUnlock
}
