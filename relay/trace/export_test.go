package trace

// Line returns the line of the event, without a line end.
func (e Event) Line() ([]byte, error) { return e.encode(Limits{}.withDefaults()) }
