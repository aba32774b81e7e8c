// Package userrules reads a user's own rules for commands ($CODEX_HOME/rules/*.rules), by which
// Codex runs commands outside its sandbox, and tells what they do to a command line.
//
// Measured with Codex 0.169.0: a command runs outside the sandbox and without a question,
// whatever the thread's policy, when each simple command of the line has a prefix_rule with
// the decision "allow" and the line is plain: words, && || ; | and nothing else. Of any other
// line the whole is matched, as [SHELL, "-lc", LINE].
// Programs are matched by name where no rule has their path. Of several rules for a command
// the strictest counts, and so it does for a line. A file that can't be read makes Codex leave
// all rules out.
//
// It promises that a line which Codex may let out is never said to stay: what is not sure
// leaves. It reads no other files than those of the folders it is given, and runs a rules file
// (they are Starlark) with a bound on steps and nothing to call but what makes rules.
//
// A Reader may be used by several goroutines; a Set is not changed.
package userrules
