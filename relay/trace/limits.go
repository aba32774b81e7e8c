package trace

import "codex-bridge/relay/redact"

// Limits bound what is written. Left out, a limit has the value given here.
type Limits struct {
	Event  int   // bytes of a line; 256 KiB
	File   int64 // bytes of a file; 50 MiB
	Memory int   // bytes that wait to be written; 8 MiB
	redact.Limits
}

// orDefault fills in what is left out.
func (l Limits) orDefault() Limits {
	set := func(n *int, d int) {
		if *n <= 0 {
			*n = d
		}
	}
	set(&l.Event, 256<<10)
	set(&l.Memory, 8<<20)
	if l.File <= 0 {
		l.File = 50 << 20
	}
	return l
}
