package acp

// Outbox returns the functions of a new outbox.
func Outbox(deliver func(Update)) (put func(Update) bool, end func()) {
	o := newOutbox(deliver)
	return o.put, o.close
}

// CommandOf returns the command of a call's input.
var CommandOf = commandOf
