// Package setting has the values that the settings of a thread may have, and how other
// spellings of them are read: approval policy, sandbox, service tier, model provider and
// reasoning effort.
//
// It promises that what it gives back is what Codex takes (measured with 0.169.0), or
// nothing. It does not say what is allowed: that is the policy's. All of it is pure and
// may be used by several goroutines.
package setting
