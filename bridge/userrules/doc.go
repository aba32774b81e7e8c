// Package userrules reads the user's rules for commands ($CODEX_HOME/rules/*.rules), by which Codex
// runs commands outside its sandbox, and determines their effect on a command line.
//
// Measured with Codex 0.169.0: a line runs outside the sandbox and without an approval, under any
// policy, if it is plain (words, && || ; | and nothing else) and each of its commands matches a
// prefix_rule with the decision "allow". Of any other line the whole is matched, as [SHELL, "-lc",
// LINE]. Programs match by name unless a rule has their path. Of several rules for a command, and of
// several commands in a line, the strictest applies. If a file can't be read Codex ignores all rules.
//
// A line that may leave the sandbox is never reported as Stays, and a rule that may restrict a line is
// always reported. Rules files are Starlark. Only calls with plain texts are read; any other file is an
// error, because implementations of Starlark differ.
package userrules
