// Package toolcall decides about what a model calls in a thread: tools, as hooks report them before they run, the
// programs that a command line starts, and what an agent of the Agent Client Protocol wants to do.
//
// Decide applies the rules and policy.escalation to a call; a person is asked where Decision.Ask is set. Confine keeps
// an allowed command in the sandbox, and DecideProgram decides each program of a line where it starts.
package toolcall
