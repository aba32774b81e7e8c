// Package enter is the first program of a supervised Codex. It puts a seccomp filter on itself that
// reports each program start, sends the filter's listener to the bridge, and becomes Codex. All
// descendants inherit the filter. That needs a process of its own: Go can't run code between fork and
// exec, and a filter that were set before would stop the thread that has to answer.
//
// It runs in init, before packages that take time are initialised, and imports as little as it can.
package enter

// Word is the first argument of a process that enters the filter. The second is a Mode, the rest are
// the program and its argument vector.
const Word = "supervised"

// The second arguments.
const (
	Run   = "run"   // become the program
	Probe = "probe" // end with status 0: the filter works
)

// Socket is the descriptor that the process has to the bridge. It first sends the address of Text in its
// memory, in eight bytes of this machine, and gets a byte: Filter or NoFilter. With Filter it sends a byte: 0 with the
// listener, or else the number of the step that failed and an errno in four bytes, and gets NoFilter. Then it becomes
// the program. If it can't, it sends StepExec and the errno. It ends if the bridge closes the socket.
const Socket = 3

// Text is what the bridge must be able to read in the memory of the process: it will read there what programs
// start.
const Text = "codex-bridge supervises this process"

// The answers of the bridge.
const (
	NoFilter = 1 + iota // become the program
	Filter              // set the filter before
)

// The steps that may fail.
const (
	StepPrivileges = 1 + iota // PR_SET_NO_NEW_PRIVS
	StepFilter                // the filter with a listener
	StepSend                  // the listener's way to the bridge
	StepExec                  // the program
)
