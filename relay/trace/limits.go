package trace

import (
	"cmp"

	"codex-bridge.example/relay/redact"
)

// Limits bound the files and the queue. A limit of 0 has the default given here.
type Limits struct {
	Event  int   // bytes of a line; default 256 KiB
	File   int64 // bytes of a file; default 50 MiB
	Memory int   // bytes of queued messages; default 8 MiB
	redact.Limits
}

// withDefaults returns l with the defaults set.
func (l Limits) withDefaults() Limits {
	l.Event, l.File, l.Memory = cmp.Or(l.Event, 256<<10), cmp.Or(l.File, 50<<20), cmp.Or(l.Memory, 8<<20)
	return l
}
