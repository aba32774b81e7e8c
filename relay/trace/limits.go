package trace

// Limits bound what is written. Left out, a limit has the value given here.
type Limits struct {
	Event  int   // bytes of a line; 256 KiB
	File   int64 // bytes of a file; 50 MiB
	Text   int   // characters of a text; 20,000
	Items  int   // elements of an array, members of an object; 100
	Depth  int   // arrays and objects inside each other; 16
	Memory int   // bytes that wait to be written; 16 MiB
}

// orDefault fills in what is left out. Codex's messages nest to about ten: an item of a turn
// of a thread that is resumed begins at six.
func (l Limits) orDefault() Limits {
	set := func(n *int, d int) {
		if *n <= 0 {
			*n = d
		}
	}
	set(&l.Event, 256<<10)
	set(&l.Text, 20_000)
	set(&l.Items, 100)
	set(&l.Depth, 16)
	set(&l.Memory, 16<<20)
	if l.File <= 0 {
		l.File = 50 << 20
	}
	return l
}
