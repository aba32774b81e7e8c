package acp

// Outbox is the line of updates that wait to be told.
func Outbox(tell func(Update)) (put func(Update) bool, end func()) {
	o := newOutbox(tell)
	return o.put, o.close
}

// CommandOf is the command of a call's input.
var CommandOf = commandOf
