// Package supervise decides where programs start. On Linux, Codex and all its descendants run below a
// seccomp filter that reports execve and execveat, and refuses pidfd_getfd. The reporting process waits until a Supervisor has
// decided. If the bridge is gone, no program starts.
//
// A Supervisor knows which tool call of Codex a program belongs to: [Supervisor.Announce] tells it the
// line of a call before Codex starts it, and the shell with exactly that line opens the tree of the
// call. Programs of Codex itself, such as MCP servers and hooks, start without a decision. A sandboxed
// program that no call announced, or a shell with the variables of a command, belongs to no known call, and is decided
// as such.
//
// The words of a program are read from the memory of the process that waits, and its file is looked up, before the
// kernel does the same. A process with several threads, or another process that writes to its memory or changes links,
// can give the kernel other ones. Such a process can also do itself the work of the program.
//
// A program is known by its name, the file behind all links, and its first word. A copy, a hard link or a bind mount of
// it under another name is another program. So is the work that another process does outside, such as a container's
// daemon or cron, and an interpreter that a user namespace registers for a kind of file (binfmt_misc).
package supervise

import (
	"context"
	"strings"

	"codex-bridge.example/bridge/display"
)

// Program is a file that is about to run, with its words.
type Program struct {
	Path string   // absolute, as the process named it
	File string   // the file behind all links; "" if it is not known
	Args []string // the argument vector; may be empty
	Dir  string   // the folder of the process
}

// Call is a tool call of Codex.
type Call struct {
	Thread, Turn, ID string
	Line             string // for the shell
}

// Start is the start of a program.
type Start struct {
	PID int
	// Programs are the program, for a script with a #! line also the interpreters that the kernel runs with it, and one
	// that the kernel starts in place of a dynamic loader. There is at least one.
	Programs []Program
	// Calls are the tool calls that the program may belong to. They are several if calls of the same
	// line run at the same time, and none if the call is not known.
	Calls []Call
	// Follow returns the file behind all links of a path, as the process sees it while it waits. An error that is not
	// fs.ErrNotExist says that the file is not known.
	Follow func(path string) (string, error)
	// Unreadable says why the words are not known; "" if they are known.
	Unreadable string
	// Within are the consents, set by Consent, of the programs that have started this one.
	Within []string
	// Consent makes a name one of Within of all that the program starts. It counts if the program then starts.
	Consent func(name string)
}

// String returns the beginning of Words.
func (s Start) String() string { return display.ClipTo(s.Words(), maxShown) }

// Words returns the path and the words of the program for people. A word that a shell would split is quoted.
func (s Start) Words() string {
	if len(s.Programs) == 0 {
		return "an unknown program"
	}
	p := s.Programs[0]
	words := []string{display.ShellWord(p.Path)}
	for _, word := range p.Args[min(1, len(p.Args)):] {
		words = append(words, display.ShellWord(word))
	}
	return strings.Join(words, " ")
}

// maxShown bounds String, in bytes.
const maxShown = 1000

// UnsupportedError says why program starts can't be supervised here.
type UnsupportedError struct{ Reason string }

// Error implements error.
func (e *UnsupportedError) Error() string { return "program starts can't be supervised: " + e.Reason }

// Options are those of a Supervisor.
type Options struct {
	// Decide reports whether a program may start. It may wait, for instance for a person; ctx ends when
	// the process is gone. It is called concurrently.
	Decide func(ctx context.Context, start Start) bool
	// Full is called in place of Decide while too many decisions wait, and returns as it does; nil: the program does not
	// start. first reports whether none was refused so before, or since Drained.
	Full func(start Start, first bool) bool
	// Drained is called when fewer decisions wait again, with the number of calls of Full since then; may be nil.
	Drained func(n int)
	// IsHook reports whether a line of Codex starts a hook of this bridge.
	IsHook func(line string) bool
	// Required reports that a Codex without a filter must not start. If it is false, Codex starts
	// without one where the system has none.
	Required bool
	// Unsupported is called once, with an *UnsupportedError, if Codex starts without a filter; nil: nothing is called.
	Unsupported func(error)
}
