// Package grants remembers approvals, exactly: what was allowed once is allowed
// again only when no byte of it has changed, in the place where it was allowed, for
// as long as [approvals] says.
//
// Promises. A Key holds the provider, the session, the workspace, the tool, its whole
// input, the shell that reads it, what its sandbox allows, and the working folder, as it was given and as it was found on the disk. Texts
// are compared byte by byte, without any normalisation, and numbers as they are
// written; only the order of an object's members and the spelling of its strings'
// escapes and of white space don't count. What leaves the sandbox is never
// remembered. A store that can't be read, a clock that was set back, a key that can't
// be made: in each case nothing is remembered and a person is asked. What is revoked
// counts no more from the next look on, in all processes.
//
// No promises. What a command does depends on files that no key holds: a script that
// was allowed may say something else tomorrow. Who may write the store can write
// grants into it.
//
// All types may be used by several goroutines.
package grants
