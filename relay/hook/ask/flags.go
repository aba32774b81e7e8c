package ask

import "time"

// Flags are what a hook's process is told on its command line.
type Flags struct {
	Socket  string
	Event   string // as the contract writes it: pre_tool_use …
	Timeout time.Duration
	Allow   bool // lets the tool run where no bridge answers
}

// exact reads a command line in the one form that the bridge writes: nothing is asked
// early for another.
func exact(args []string) (f Flags, ok bool) {
	switch {
	case len(args) == 8 && args[6] == "--on-failure" && args[7] == "allow":
		f.Allow = true
	case len(args) != 6:
		return f, false
	}
	if args[0] != "--socket" || args[2] != "--event" || args[4] != "--timeout" {
		return f, false
	}
	f.Socket, f.Event = args[1], args[3]
	if len(f.Socket) == 0 || f.Socket[0] != '/' || !plain(f.Event) {
		return f, false
	}
	var err error
	f.Timeout, err = time.ParseDuration(args[5])
	return f, err == nil && f.Timeout > 0
}

// plain tells whether a word stands in JSON as it is.
func plain(word string) bool {
	for i := range len(word) {
		c := word[i] | 0x20
		if (c < 'a' || c > 'z') && (word[i] < '0' || word[i] > '9') && word[i] != '_' {
			return false
		}
	}
	return word != ""
}
