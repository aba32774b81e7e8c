// Package rules decides shell commands, file changes and tool calls by the [[policy.rule]] entries
// of a configuration.
//
// The package is pure: it reads no file, clock or environment variable, and starts no goroutine. A
// Set is immutable; several goroutines may use it at the same time.
//
// The package promises that an allow rule counts only if rules allow every simple command of a
// line, however the line runs. If the package can't read a text with certainty, no allow rule
// applies, and every deny or ask rule that might match does. The time and memory of a decision are
// bounded for every line.
//
// The package does not read scripts, makefiles, programs for interpreters such as python -c, or
// commands that ssh runs on another machine. It does not know the effects of a command. Rules
// express the user's intent; the sandbox is the boundary.
//
// docs/reference/rules.md describes the language for users.
package rules
