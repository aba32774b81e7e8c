// Package rules answers what the [[policy.rule]] entries of a configuration
// say of a shell command, a file change or a tool call.
//
// It is pure: no file, no clock, no goroutine, no look at the environment. A
// Set is immutable and may be used by any number of goroutines.
//
// What it promises: an allow rule is only taken when every simple command of a
// line, in every way it can be run, is one that some rule allows; what can't be
// read with certainty is allowed by no rule, and denied or asked by every rule
// that could mean it. The time and memory of a decision are bounded, whatever
// the line.
//
// What it does not: it does not look into scripts, makefiles, programs handed to
// interpreters such as python -c, or what ssh runs elsewhere, and it does not
// know what a command does. Rules are a person's intent, the sandbox is the
// boundary.
//
// docs/reference/rules.md describes the language for users.
package rules
