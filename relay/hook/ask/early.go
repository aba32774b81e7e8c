package ask

import (
	"os"
	"time"
)

var early *Request

// init sends the request of a hook process and writes the output. The process ends here unless
// that fails; then main continues.
func init() {
	if len(os.Args) < 2 || os.Args[1] != "hook" {
		return
	}
	flags, ok := parseExact(os.Args[2:])
	if !ok {
		return
	}
	early = Start(flags, os.Stdin)
	if !early.Wait() {
		return
	}
	output, ok := early.Output()
	if ok && len(output) > 0 {
		_, early.writeErr = os.Stdout.Write(output)
	}
	if ok && early.writeErr == nil {
		os.Exit(0)
	}
}

// Early returns the request that init has sent, with all of stdin; nil if it sent none.
func Early() *Request { return early }

// Flags are the flags of a hook process.
type Flags struct {
	Socket  string
	Event   string // as in the bridge's configuration: pre_tool_use …
	Timeout time.Duration
	Allow   bool // lets the tool run if no bridge answers
}

// parseExact parses a command line in exactly the form that the bridge writes. No request
// is sent early for any other.
func parseExact(args []string) (f Flags, ok bool) {
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
	if len(f.Socket) == 0 || f.Socket[0] != '/' || !isPlain(f.Event) {
		return f, false
	}
	var err error
	f.Timeout, err = time.ParseDuration(args[5])
	return f, err == nil && f.Timeout > 0
}

// isPlain reports whether a word needs no escaping in JSON: it has only ASCII letters,
// digits and "_".
func isPlain(word string) bool {
	for i := range len(word) {
		c := word[i] | 0x20
		if (c < 'a' || c > 'z') && (word[i] < '0' || word[i] > '9') && word[i] != '_' {
			return false
		}
	}
	return word != ""
}
